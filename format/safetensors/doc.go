// Package safetensors reads and writes .safetensors files, the usual format for weights on the
// Hugging Face Hub, and models sharded into several files.
//
// # A file
//
// A file consists of a length, a JSON object of that length, and the data:
//
//	offset size field
//	 0      8   header length  N, unsigned, little-endian, at most 100,000,000
//	 8      N   header         one JSON object in UTF-8; may be surrounded by white space
//	 8+N    -   buffer         the data of all tensors, to the end of the file
//
// The header has an entry for each tensor, and the metadata:
//
//	{"__metadata__":{"format":"pt"},
//	 "weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}
//
// data_offsets are the start and end of the data, relative to the start of the buffer. Data
// is row-major and little-endian. The ranges of all tensors cover the buffer without gaps or
// overlaps, in any order; an empty tensor must lie on a boundary between others. An empty
// shape has one element; a shape with a dim of 0 has none.
//
// The dtypes, in the order of the enumeration of the reference implementation
// (the Rust crate safetensors):
//
//	BOOL  F4  F6_E2M3  F6_E3M2  U8  I8  F8_E5M2  F8_E4M3  F8_E8M0  F8_E4M3FNUZ
//	F8_E5M2FNUZ  I16  U16  F16  BF16  I32  U32  F32  C64  F64  I64  U64
//
// C64 is complex64 and F8_E4M3 is float8_e4m3fn. F4 (e2m1), the F6 types, F8_E8M0 (2^(x-127),
// 255 is NaN) and the FNUZ types (bias 8 and 16, 0x80 is NaN) have a [tensor.Encoding];
// tensor.Decode returns their values. Elements smaller than a byte are packed starting with
// the lowest bits. A dtype that the reference does not have is not an error: the range alone
// determines the size of the tensor, which must be 0 if and only if it has no elements. A copy
// to another safetensors file preserves the names and bytes of such tensors, and stores them
// after all others.
//
// # Invalid files
//
// This package refuses what the reference refuses, and some files that it accepts:
//
//   - A header that extends past the end of the file or is larger than 100,000,000 bytes.
//   - JSON that is not strict: a byte order mark, invalid UTF-8, lone surrogates, control
//     characters in strings, more than 127 levels, or anything but white space (spaces,
//     tabs, line ends) around the object; NUL bytes are not white space.
//   - Duplicate names of tensors, metadata entries, or the three fields of an entry, compared
//     after unescaping. (The reference uses the last tensor or metadata entry.) Names may be
//     empty.
//   - Entries that lack a field or are written as an array, which the reference's JSON library
//     accepts. Unknown fields are ignored, as in the reference.
//   - Dims and data_offsets other than plain integers: 1.0, 1e3, -0, -1, "1"; a product of dims
//     of 2^63 or more, even if another dim is 0; more than 65,536 dims.
//   - Elements that do not fill whole bytes, such as three of F4, and ranges whose size does
//     not match shape and dtype.
//   - Metadata values that are not strings. null instead of the object counts as absent.
//
// Data that is not aligned for its dtype, because of the length of the header or of the data
// before it, is copied on use. Notes count such tensors.
//
// # Sharded models
//
// An index combines several files into a model. It is a JSON object, usually called
// model.safetensors.index.json. Open it like a file:
//
//	{"metadata":{"total_size":32},
//	 "weight_map":{"weight":"model-00001-of-00002.safetensors",
//	               "bias":"model-00002-of-00002.safetensors"}}
//
// Shards must be in the directory of the index or below it: absolute paths, "..", and links
// out of it are errors, and so is a shard that lacks a tensor mapped to it. The model has the
// tensors of the weight map, in its order. Other tensors in the shards are left out; Notes
// count them. There may be at most 65,536 shards. All are opened with the index, and none may
// itself be an index. The model's metadata combines that of the index, without total_size and
// total_parameters, and of the shards; the first value of a key counts. Other keys of the
// index are ignored. If the index is opened without a path, the shards are looked up in
// format.Options.Dir. They are mapped then,
// even if the index is opened through an io.ReaderAt; a format.SiblingOpener opens them itself.
//
// Without an index, format.Open of a directory opens all shards of a model if they are there by
// their names (X-00001-of-00002.safetensors). Then a tensor may be in one shard only, and the model
// has the metadata of the shards.
//
// With format.WriteOptions.MaxShard the writer makes shards and their index, with names as
// above. Every shard has all metadata.
//
// # Writing
//
// The writer produces the same bytes as the reference. The header has no white space. It
// begins with the metadata, in the schema's order (the reference's order is random), followed by
// the tensors in the order of their data: by descending position of the dtype in the list
// above, then by name. Spaces pad the header to a multiple of 8. Since larger elements come
// first, all data is aligned. The layout depends on the schema alone, so the writer streams if
// tensors arrive in that order. Dtypes without a tensor.DType are written if rows fill whole
// bytes.
//
// The values of metadata are strings. Those of a schema that are numbers, booleans, JSON or null
// are written as their JSON text, and the entry "weightmap.types" names their keys and types,
// {"epoch":"int64"}: format.Model.Schema gives them their types again, so nothing is lost.
// Model.Metadata returns the strings.
//
// The format has no graph and no quantization parameters. For a schema with more, the writer
// returns an error that lists what would be lost; see format.WriteOptions.AcceptLoss. A tensor
// called __metadata__ is renamed by appending underscores (LossName).
//
// # Verification
//
// The format has no checksums. Verify compares the headers with what was parsed, and reads
// all data.
package safetensors
