// Package tensor defines what all model formats share: element types, shapes, views of tensor
// data, half-precision numbers, quantization and checksums. To open files, see package format.
//
// # Views
//
// A View describes a tensor of an open model and gives access to its little-endian, row-major
// bytes, in two ways:
//
//   - View.Bytes and As return raw slices, without a copy if View.ZeroCopy reports so. They are valid
//     until the model is closed, and reading them crashes if another program cuts the file short.
//   - View.Use, ReadInto, ReadAt, Clone, Decode and DecodeAt are guarded: Close waits for them, and
//     they return ErrTruncated if another program cuts the file short.
//
// As fails if the elements cannot be viewed in place as the requested type. Decode copies them: it
// swaps bytes on big-endian hosts and converts half precision, integers and quantized values to
// float32 or float64. DecodeAt does so for any part of a tensor, without allocating.
//
// Of makes a view of a Go slice; FromBytes and FromInfo make a view of bytes.
//
// # Quantization
//
// Quantize maps float32 values to fewer bits, per tensor or per channel, and reports the error.
// Dequantize reverses it, for every integer type. The parameters in a file are checked when values
// are decoded, not when the file is opened.
//
// # Checksums
//
// CRC-32, CRC-32C and Adler-32 have an Update function for data in pieces and a Combine function
// for parts that are computed in parallel. View.Digest returns the XXH64 of a tensor.
package tensor
