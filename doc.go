// Package weightmap opens the weight files of neural networks: safetensors, GGUF, ONNX, PyTorch,
// NumPy, MOBI, MAG, TSR, MLE and WIA-AI-014. It maps a file into memory and returns its tensors as
// views of the mapping; it also writes and converts such files. It does not run networks.
//
// This package has no code. Begin with package format, and import the formats that you need:
//
//	import (
//		"github.com/weightmap/weightmap/format"
//		_ "github.com/weightmap/weightmap/format/safetensors"
//		"github.com/weightmap/weightmap/tensor"
//	)
//
//	m, err := format.Open(path, nil) // maps the file and reads its index
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer m.Close()
//	v, err := m.Tensor("fc.bias")
//	if err != nil {
//		log.Fatal(err)
//	}
//	weights, err := tensor.As[float32](v) // a slice of the mapping, valid until Close
//
// # Packages
//
// What most programs use:
//
//   - [github.com/weightmap/weightmap/format] opens, verifies and writes a model of any format.
//   - [github.com/weightmap/weightmap/format/all] registers every format; import it for its side effect.
//   - [github.com/weightmap/weightmap/tensor] has views, element types, shapes, decoding and quantization.
//   - [github.com/weightmap/weightmap/format/convert] converts a model to another format or dtype.
//
// One package for each format, which also has what only that format can do:
//
//   - [github.com/weightmap/weightmap/format/safetensors]
//   - [github.com/weightmap/weightmap/format/gguf]
//   - [github.com/weightmap/weightmap/format/onnx]
//   - [github.com/weightmap/weightmap/format/torch] (read only)
//   - [github.com/weightmap/weightmap/format/npy], for npz too
//   - [github.com/weightmap/weightmap/mobi]
//   - [github.com/weightmap/weightmap/mag]
//   - [github.com/weightmap/weightmap/tsr]
//   - [github.com/weightmap/weightmap/mle], with [github.com/weightmap/weightmap/mle/brotli] for its Brotli sections
//   - [github.com/weightmap/weightmap/wia]
//
// For services, phones and special models:
//
//   - [github.com/weightmap/weightmap/format/live] replaces a model while requests use it.
//   - [github.com/weightmap/weightmap/format/remote] reads models behind HTTP and on the Hugging Face Hub.
//   - [github.com/weightmap/weightmap/format/digest] computes a digest of all tensors that is the same in every format.
//   - [github.com/weightmap/weightmap/format/signing] signs and verifies all files of a model.
//   - [github.com/weightmap/weightmap/format/mobile] is bound by gomobile for Java, Kotlin and Swift.
//   - [github.com/weightmap/weightmap/tensor/quant] joins quantized weights with scales in a second tensor.
//
// For a new format:
//
//   - [github.com/weightmap/weightmap/format/driver] is what a format implements.
//   - [github.com/weightmap/weightmap/format/schema] is what a model holds, and how it is written.
//   - [github.com/weightmap/weightmap/format/formattest] tests it.
//
// The command line tool is github.com/weightmap/weightmap/examples/weightmap.
//
// # Compatibility
//
// Packages follow semantic versions: from 0.1.0 on, a program that compiles with one release
// compiles with the next. Packages driver, formattest and mobile are not part of this promise and
// may change in any minor release. Errors are compared by errors.Is with the sentinels of packages
// format and tensor; their text may change. The two latest releases of Go are supported.
package weightmap
