// Package gguf reads and writes GGUF files, the model files of llama.cpp and
// ggml. They hold typed metadata, and tensors of plain numbers or of blocks of
// quantized numbers. The package reads versions 2 and 3 and writes version 3.
//
// # Layout
//
// Everything is little-endian. A string is a uint64 length and its bytes.
//
//	offset size field
//	 0      4   magic              "GGUF" (47 47 55 46)
//	 4      4   version            uint32, 2 or 3
//	 8      8   tensor_count       uint64
//	16      8   metadata_kv_count  uint64
//	24      -   metadata: metadata_kv_count entries, back to back
//	            tensor infos: tensor_count records, back to back
//	            padding to a multiple of the alignment
//	            the data of the tensors, each at a multiple of the alignment
//
//	A metadata entry
//	 0      8   key                its length
//	 8      N   key                its bytes
//	 8+N    4   type               uint32, that of the value, which follows
//
//	The value of an array
//	 0      4   type               uint32, that of the elements
//	 4      8   length             uint64, their number; the elements follow
//
//	A tensor info
//	 0      8   name               its length
//	 8      N   name               its bytes
//	 8+N    4   n_dims             uint32
//	12+N    8*n_dims  dims         uint64 each
//	 -      4   type               uint32
//	 -      8   offset             uint64
//
// Values have one of 13 types: 0 uint8, 1 int8, 2 uint16, 3 int16, 4 uint32,
// 5 int32, 6 float32, 7 bool (a byte, 0 or 1), 8 string, 9 array, 10 uint64,
// 11 int64, 12 float64. Elements of an array may be arrays, 8 deep at most.
//
// The dims of a tensor are stored innermost first. Shapes list them outermost
// first, as everywhere in this module: [3, 4] is stored as 4, 3. A tensor has at
// most 4 dims; without dims it has one element. Offsets are relative to the
// beginning of the data.
//
// The alignment is the uint32 "general.alignment" of the metadata, a power of two of
// at least 8; the default is 32. So every view of a mapped file is aligned for its
// dtype.
//
// # Element types
//
// Types 0 (F32), 1 (F16), 24 to 28 (I8, I16, I32, I64, F64) and 30 (BF16) are
// dtypes. Tensors of all other types have a tensor.Encoding, with their name and
// raw bytes. The following types are blocks of elements along a row, whose length
// must be a multiple of the block:
//
//	2 Q4_0   32  18  d | 16 x (element i, element i+16)                (q-8) d
//	3 Q4_1   32  20  d, m | 16 x (i, i+16)                             q d + m
//	6 Q5_0   32  22  d | 32 fifth bits | 16 x (i, i+16)                (q-16) d
//	7 Q5_1   32  24  d, m | 32 fifth bits | 16 x (i, i+16)             q d + m
//	8 Q8_0   32  34  d | 32 x int8                                     q d
//	10 Q2_K 256  84  16 x (scale, min) | 64 x 4 elements | d, dmin     q s d - m dmin
//	11 Q3_K 256 110  256 third bits | 64 x 4 | 16 x 6-bit scale | d    (q-4) (s-32) d
//	12 Q4_K 256 144  d, dmin | 8 x 6-bit (scale, min) | 128 x 2        q s d - m dmin
//	13 Q5_K 256 176  d, dmin | 8 x (scale, min) | fifth bits | 128 x 2 q s d - m dmin
//	14 Q6_K 256 210  128 x 2 | 64 x 4 upper bits | 16 x int8 scale | d (q-32) s d
//	34 TQ1_0 256 54  32, 16 and 4 bytes of base-3 digits | d           (q-1) d
//	35 TQ2_0 256 66  64 x 4 | d                                        (q-1) d
//	39 MXFP4  32 17  exponent e | 16 x (i, i+16) of e2m1               2 q 2^(e-128)
//	40 NVFP4  64 36  4 x e4m3 scale | 4 x 8 x (i, i+8) of e2m1         2 q s/2
//	41 Q1_0  128 18  d | 128 signs, set for d                          d or -d
//	42 Q2_0   64 18  d | 16 x 4                                        (q-1) d
//	20 IQ4_NL 32 18  d | 16 x (i, i+16), indices of a curve            v d
//	23 IQ4_XS 256 136  d | 8 x 2 upper, 4 lower bits of scales | as IQ4_NL  v (s-32) d
//	16 IQ2_XXS 256 66  d | per 32: 4 indices | 4 x 7 signs, 4-bit scale   ± g (s+.5) d/4
//	17 IQ2_XS 256 74   d | 32 x (9-bit index, 7 signs) | 16 x 4-bit scale  ± g (s+.5) d/4
//	22 IQ2_S 256 82    d | 32 indices | 256 signs | 32 x 2 upper bits | scales  ± g (s+.5) d/4
//	18 IQ3_XXS 256 98  d | 64 indices | per 32: 4 x 7 signs, 4-bit scale  ± g (s+.5) d/2
//	21 IQ3_S 256 110   d | 64 indices | 64 upper bits | 256 signs | 8 x 4-bit scale  ± g (2s+1) d
//	19 IQ1_S 256 50    d | 32 indices | per 32: 4 x 3 upper bits, 3-bit scale, sign
//	                   (g ± 1/8) (2s+1) d
//	29 IQ1_M 256 56    32 indices | 32 x (3 upper bits, sign) | 16 x 3-bit scale with d in the rest
//	                   (g ± 1/8) (2s+1) d
//
// The columns are: number, name, elements and bytes of a block, contents of a block, and value of
// an element. d, m and dmin are float16; g is a number of a codebook (codebooks.bin). Where 7 signs
// are stored, the eighth makes the number of negative ones even. Products are computed in float32
// in the order of ggml's reference, so that values are equal bit for bit; testdata/blocks.py has
// all layouts as a program. tensor.Decode returns float32 or float64.
//
// Some types are known by name and block size, so that sizes are checked, but are not decoded: Q8_1
// and Q8_K, which are intermediate types, and types that were removed from ggml but occur in files
// (Q4_0_4_4 and the like).
//
// Any other number below 256 (and Q4_2 and Q4_3, whose size is undocumented) is
// assumed to be a newer type: the tensor is listed as "type 99", and its bytes extend
// to the next tensor or to the end of the file. Larger numbers are rejected, as types
// are numbered consecutively. A copy of the model in this format preserves the number
// and the bytes of such tensors.
//
// # Errors
//
// Errors name the field and its offset. A reader rejects:
//
//   - a wrong magic (ErrMagic)
//   - versions other than 2 and 3 (ErrVersion); the error mentions big-endian files
//   - counts, lengths of strings and arrays, and dims that need more bytes than remain, and data
//     beyond the end of the file (ErrTruncated)
//   - unknown types of values (ErrUnsupported)
//   - arrays nested deeper than 8 (ErrLimit)
//   - a bool other than 0 and 1, an invalid alignment, more than 4 dims, dims or sizes in
//     bytes of 2^63 or more, rows that are not a multiple of a block, offsets that are not a
//     multiple of the alignment, and names that are duplicate, empty, not UTF-8 or contain
//     NUL (all ErrCorrupt)
//
// It tolerates missing padding after the last tensor, or after the header of a
// file without data. It tolerates, and Notes lists, duplicate keys (the first
// applies), overlapping tensors, names of 64 bytes or more, and bytes after the
// last tensor. Dims of 0 are legal.
//
// # Split models
//
// A model may be split into several files, "m-00001-of-00003.gguf" and so on, each with a header.
// Opening the first file opens all as one model. Its metadata is that of the first file without
// split.no, split.count and split.tensors.count, which are checked: split.no counts from 0 and must
// match the name, split.count must match the name and be the same in all parts, and
// split.tensors.count must be the number of tensors of all parts. The other parts must be in the
// same directory, or linked there; opening fails if one is missing. A part other than the first
// opens alone, and Model.Part says which it is; so does a first part that has another name, or is
// read from memory or a reader. With format.WriteOptions.MaxShard the writer splits models as
// gguf-split does.
//
// # Metadata
//
// Metadata returns the types common to all formats: integers as int64 (larger uint64
// values as json.Number), floats as float64, arrays as JSON (json.RawMessage). In
// JSON, floats always have a point or an exponent, NaN and infinities are strings, and
// invalid UTF-8 is replaced. Values are decoded lazily, within Options.MaxMemory. An open
// model keeps the bytes of those up to 16 KiB, and reads larger ones, such as a vocabulary, each
// time; they are ErrCorrupt if they are not what they were when the model was opened.
// [File.Typed] returns values with their types in the file.
//
// The writer accepts both forms. Values of a GGUF type (uint8, []string, [Int64]) keep
// it. Others get the type that llama.cpp uses: an int64 becomes a uint32, an int32 if it
// is negative, or an int64 if these are too small; a float64 becomes a float32 if that is
// exact; a json.Number becomes one of these or a uint64. A JSON array becomes an array of
// string, of bool, of int32 (or int64, or uint64), or of float32 (or float64) if an
// element has a point or an exponent; an empty array becomes one of int32. In the schema of
// a GGUF file (format.Model.Schema), unchanged entries keep their type and bytes. Objects, null,
// arrays with elements of several types, and duplicate keys cannot be stored.
//
// # Writing
//
// The writer makes files of version 3, with tensors in the order of the schema and padding
// after each, including the last. The format cannot hold other dtypes (uint8, bool,
// float8), more than 4 dims, quantization parameters or a graph; the
// error lists all of these. Tensors with an Encoding of this package are written as
// they are, so files with quantized tensors can be copied. tensor.Quantize and
// package convert can quantize tensors to Q8_0.
//
// The alignment is format.WriteOptions.Align if set, else that of the schema's metadata, else 32.
//
// The format has no checksums. Verify checks that the structure has not changed since the file
// was opened, and reads all data.
package gguf
