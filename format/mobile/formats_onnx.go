//go:build weightmap_onnx

package mobile

import _ "github.com/weightmap/weightmap/format/onnx"
