//go:build !weightmap_wia && (weightmap_mobi || weightmap_mag || weightmap_tsr || weightmap_mle || weightmap_safetensors || weightmap_gguf || weightmap_npy || weightmap_onnx)

package mobile

import "github.com/weightmap/weightmap/format"

// nameInside finds nothing: only wia has a name within something else.
func nameInside(format.Metadata) string { return "" }
