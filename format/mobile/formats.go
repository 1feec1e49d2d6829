//go:build !weightmap_mobi && !weightmap_mag && !weightmap_tsr && !weightmap_mle && !weightmap_wia && !weightmap_safetensors && !weightmap_gguf && !weightmap_npy && !weightmap_onnx

package mobile

import _ "github.com/weightmap/weightmap/format/all" // without build tags all formats are linked
