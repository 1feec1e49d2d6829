// Package all registers every format of weightmap. Import it for its side
// effect:
//
//	import _ "github.com/weightmap/weightmap/format/all"
package all

import (
	_ "github.com/weightmap/weightmap/format/gguf"
	_ "github.com/weightmap/weightmap/format/npy"
	_ "github.com/weightmap/weightmap/format/onnx"
	_ "github.com/weightmap/weightmap/format/safetensors"
	_ "github.com/weightmap/weightmap/format/torch"
	_ "github.com/weightmap/weightmap/mag"
	_ "github.com/weightmap/weightmap/mle"
	_ "github.com/weightmap/weightmap/mobi"
	_ "github.com/weightmap/weightmap/tsr"
	_ "github.com/weightmap/weightmap/wia"
)
