// Package gguf reads and writes GGUF files, the model files of llama.cpp and
// ggml: typed metadata, tensors of plain numbers, and tensors of blocks of
// quantized numbers. Versions 2 and 3 are read, 3 is written.
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
//	24      -   metadata           metadata_kv_count entries, back to back
//	            tensor infos       tensor_count records, back to back
//	            padding            to a multiple of the alignment
//	            data               of the tensors, each at a multiple of the alignment
//
//	metadata entry:  key string | type uint32 | value
//	array value:     type of elements uint32 | their number uint64 | elements
//	tensor info:     name string | n_dims uint32 | n_dims x uint64 | type uint32 | offset uint64
//
// Values have one of 13 types: 0 uint8, 1 int8, 2 uint16, 3 int16, 4 uint32,
// 5 int32, 6 float32, 7 bool (a byte, 0 or 1), 8 string, 9 array, 10 uint64,
// 11 int64, 12 float64. Elements of an array may be arrays, 8 deep at most.
//
// The dims of a tensor are stored innermost first; shapes show them outermost
// first, as everywhere in this module, so [3, 4] is stored as 4, 3. There are 4 at
// most; none stands for one element. The offset counts from where data begins.
//
// The alignment is the uint32 "general.alignment" of the metadata, a power of
// two of at least 8, and 32 where that is missing. With 8 or more, every view of a
// mapped file is aligned for its dtype.
//
// # Element types
//
// Types 0 (F32), 1 (F16), 24 to 28 (I8, I16, I32, I64, F64) and 30 (BF16) are
// dtypes. All others have a tensor.Encoding, by which their name, shape and raw
// bytes are shown. These are blocks of 32 or 256 elements along a row, which must
// be a multiple of a block:
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
//	19 IQ1_S 256 50    d | 32 indices | per 32: 4 x 3 upper bits, 3-bit scale, sign  (g ± 1/8) (2s+1) d
//	29 IQ1_M 256 56    32 indices | 32 x (3 upper bits, sign) | 16 x 3-bit scale with d in the rest  (g ± 1/8) (2s+1) d
//
// (number, name, elements and bytes of a block, what is in it, what an element is;
// d, m and dmin are float16, g is a number of a codebook, codebooks.bin). Of 7 signs the eighth makes
// their number even. Products are taken in float32 in the order of ggml's reference, whose values come
// out bit for bit; testdata/blocks.py has all layouts as a program. tensor.Decode returns float32 or float64.
//
// Known by name and block size, so that their sizes are checked, but not decoded: Q8_1 and Q8_K, which
// are made while computing, and those that were removed from ggml but are found in files
// (Q4_0_4_4 and the like).
//
// A number below 256 that is none of these (and Q4_2 and Q4_3, whose size is not
// written down anywhere) is taken for a newer type: the tensor is listed as "type
// 99", and its bytes go to where the next tensor begins, or to the end of the
// file. Larger numbers are refused, for types are numbered one by one. A copy of the model
// within the format keeps number and bytes of such tensors.
//
// # What a reader refuses
//
// Errors name field and offset. Another magic (ErrMagic). Version 1, and any other
// but 2 and 3 (ErrVersion); for a big-endian file the error says so. Counts, lengths
// of strings and arrays, and dims that need more bytes than are left (ErrTruncated).
// Unknown types of values (ErrUnsupported); arrays nested deeper than 8
// (ErrLimit); a bool that is neither 0 nor 1; an alignment of another type or
// value; more than 4 dims; dims, or sizes in bytes, that reach 2^63; rows that are no
// multiple of a block; an offset that is no multiple of the alignment; a name that
// occurs twice, is empty, is not UTF-8 or contains NUL (all ErrCorrupt). Data that
// leaves the file (ErrTruncated).
//
// Tolerated: missing padding behind the last tensor, or behind the header of a
// file without data. Tolerated, and listed by Notes: a key that occurs twice (the
// first counts), tensors that overlap, names of 64 bytes or more, bytes behind the
// last tensor. Dims of 0 are legal: no data.
//
// # Split models
//
// A model may come in several files, "m-00001-of-00003.gguf" and so on, each with
// its own header. Opening the first opens all as one model, with the
// metadata of the first but for split.no, split.count and split.tensors.count,
// which say how it was split. They are checked: split.no counts from 0 and agrees
// with the name, split.count with the name and among the parts, and
// split.tensors.count is the number of tensors of all parts. The other parts must
// be in the same directory, through links too; a part that is missing fails the
// open. Any other part than the first opens alone, and Notes says so; so does a
// first part that has another name, or is read from memory or a reader.
// With format.WriteOptions.MaxShard the writer splits models by these names, as gguf-split does.
//
// # Metadata
//
// Metadata returns what all formats have: integers as int64 (uint64 values beyond
// it as json.Number), floats as float64, arrays as JSON (json.RawMessage), in which
// floats always have a point or an exponent, NaN and infinities are strings, and what
// is not UTF-8 in a string is replaced. A vocabulary of 100,000 strings costs
// opening no more than a copy of its bytes: values are decoded when they are asked
// for, if Options.MaxMemory has room for them. [File.Typed] and [File.Value] return values with the types of the file.
//
// The writer takes both. Values with a type of GGUF (uint8, []string, [Int64])
// keep it. Others get the type that files usually have, which is that of llama.cpp:
// an int64 becomes a uint32, or int32 if it is negative, or int64 where these are too
// small; a float64 a float32 where that is exact; a json.Number one of these or
// uint64. A JSON array becomes one of string, bool, int32 (else int64, else
// uint64), or float32 (else float64) if some element has a point or an exponent; an
// empty one is int32. In the plan of a file of this format (format.PlanOf) entries whose values
// did not change keep the type, and the bytes, that they have in the file. Objects, null, arrays with elements of several
// types, and keys that occur twice have no place.
//
// # Writing
//
// Version 3, tensors in the order of the plan, zeros up to the alignment also
// behind the last. Dtypes other than those above have no place (uint8, bool,
// float8), nor have more than 4 dims, quantization parameters or a graph; the
// refusal lists all of it. Tensors with an Encoding of this package are written as
// they are, so files with quantized tensors can be copied. tensor.Quantize makes Q8_0,
// and package convert a file of it.
//
// The alignment is format.WriteOptions.Storage.Align, else what the plan's metadata has, else 32.
//
// Checksums: the format has none. Verify compares the structure with what was opened
// and touches all data.
package gguf
