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
//
// MOBI numbers tensors and keeps parameters of quantization with the operators of a
// graph. Names, and parameters that no operator has room for, go into an operator that
// readers look past. Report.Kept lists them, and converting back restores them.
// Other formats have no such room: a name that cannot be that of a file, in TSR, is lost.
//
// Options.Storage asks for compression, a signature, encryption and the like, and
// Options.Format for what one format alone has.
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
