// Package convert writes a model of any format in any other.
//
//	report, err := convert.File("model.safetensors", "model.mag", nil)
//
// The target's format is that of its file name, or Options.To. Formats must be
// registered: this package links none.
//
// # What is kept
//
// All of it, or nothing is written. Tensors keep their names, dtypes, shapes and bits,
// metadata, quantization and graph come along, and what the target has no place for is
// refused with a format.LossError that lists all of it. Options.Lossy
// leaves out, and reports, what a model can do without. What it cannot (a dtype, a shape)
// is refused all the same: Options.DType and Options.Quantize change dtypes.
// A format without names, such as MOBI, gives its own, which is a loss as well. MOBI
// keeps parameters of quantization with the operators of a graph, and so has no
// place for those of a model without one.
//
// What the target's format alone can do (compression, encryption, signatures) is asked
// for with Options.Create.
//
// # Memory and files
//
// A tensor that is kept is written from the mapping. One that changes goes through
// in pieces of 256 Ki elements, whatever its size. Quantization reads a tensor twice,
// once for its parameters, which stand before the data in most formats. Memory for a
// whole tensor is needed for a percentile, and for what the source stores compressed
// or encrypted: the source keeps such tensors until it is closed.
//
// The target appears whole, when everything is written, as format.Create does it. So a
// model can be converted onto its own file, and an error or cancellation leaves
// the old file as it was.
package convert
