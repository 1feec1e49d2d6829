// Package tensor is what all model formats have in common below the file: element
// types, shapes, views of data in somebody else's memory, half-precision
// numbers, quantization and checksums. It knows nothing of files.
//
// # Views
//
// A View describes a tensor of an open model and leads to its little-endian,
// row-major bytes. There are two ways to them:
//
//   - View.Bytes and As return raw slices of the model's memory without copying
//     (where View.ZeroCopy says so) and without any protection: they die with the
//     model, and with the file if another program cuts it short.
//   - View.Use, View.ReadInto, View.Clone, Decode and DecodeAt hold the memory while they
//     work, so that closing the model waits for them, and turn a fault in it into
//     ErrTruncated.
//
// As gives elements as they are there and fails where that is impossible; Decode
// always works: it copies, swaps bytes on big-endian hosts, and converts half
// precision, integers and quantized values to float32 or float64. DecodeAt does the same for
// any part of a tensor, without allocating.
//
// Of makes a view of a Go slice, FromBytes and FromInfo of bytes.
//
// # Quantization
//
// Quantize maps float32 to fewer bits, per tensor or per channel, and reports what
// was lost; Dequantize is the way back, for every integer type a file may hold.
// Parameters from files may be unsound: decoding real values fails then, not opening.
//
// # Checksums
//
// CRC32, CRC32C and Adler-32 have an Update form for data that come in pieces and a
// Combine form for pieces that were summed apart, such as on several processors.
// View.Digest is the XXH64 of tensor data.
package tensor
