// Package safetensors reads and writes .safetensors files, in which PyTorch's users and
// Hugging Face keep weights, and reads models that are cut into several of them.
//
// # A file
//
// A length, a JSON object of that length, and the data:
//
//	offset size field
//	 0      8   header length  N, unsigned, little-endian, at most 100,000,000
//	 8      N   header         one JSON object in UTF-8, white space around it
//	 8+N    -   buffer         the data of all tensors, to the end of the file
//
// The header has an entry for each tensor, and the metadata:
//
//	{"__metadata__":{"format":"pt"},
//	 "weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}
//
// data_offsets are where the data begins and ends, counted from the first byte of the
// buffer. It is row-major and little-endian. The ranges of all tensors cover the buffer
// from its first byte to its last without hole or overlap, in whatever order the header
// lists them; tensors without elements are where others begin or end. A shape of no
// dims has one element, a dim of 0 none.
//
// The dtypes, in the order of the enumeration of the reference implementation
// (the Rust crate safetensors):
//
//	BOOL  F4  F6_E2M3  F6_E3M2  U8  I8  F8_E5M2  F8_E4M3  F8_E8M0  F8_E4M3FNUZ
//	F8_E5M2FNUZ  I16  U16  F16  BF16  I32  U32  F32  C64  F64  I64  U64
//
// C64 is complex64, F8_E4M3 is float8_e4m3fn. F4 (e2m1), the F6, F8_E8M0 (2^(x-127), 255 is NaN) and the
// FNUZ (bias 8 and 16, 0x80 is NaN) have a [tensor.Encoding], and tensor.Decode returns their values; elements are packed
// little-endian, the first in the lowest bits. Dtypes that the reference does not have are listed: the range
// alone says how large the tensor is; one without elements must have no bytes, and one
// with elements some. A copy of the model within the format keeps their names and bytes, behind
// all others.
//
// # What is refused
//
// All that the reference refuses, and some of what it lets pass:
//
//   - A header that the file has no room for, or of more than 100,000,000 bytes.
//   - JSON that is not strict: a byte order mark, invalid UTF-8, lone surrogates, control
//     characters in strings, more than 127 levels, anything but white space (spaces,
//     tabs, line ends) around the object, so NUL bytes too.
//   - Names that occur twice, however they are escaped, among tensors, in
//     __metadata__, and the three fields of an entry. (The reference takes the last
//     tensor, or metadata entry, of several.) Names may be empty.
//   - Entries that lack a field, and those written as an array, which the reference's JSON
//     library happens to take. Fields that are not known are ignored, as by
//     the reference.
//   - Dims and data_offsets other than plain integers: 1.0, 1e3, -0, -1, "1"; products of
//     2^63 and more, also when another dim is 0, and more than 65,536 dims.
//   - Elements that do not fill whole bytes, such as three of F4, and ranges of another
//     size than shape and dtype say.
//   - Metadata that is not strings. null instead of the object counts as absent.
//
// Data that is not aligned for its dtype, because the header's length is no multiple of
// 8 or because of what comes before, is copied when it is used; Notes counts such tensors.
//
// # Sharded models
//
// An index joins several files to a model. It is a JSON object, usually called
// model.safetensors.index.json, and opened like a file:
//
//	{"metadata":{"total_size":32},
//	 "weight_map":{"weight":"model-00001-of-00002.safetensors",
//	               "bias":"model-00002-of-00002.safetensors"}}
//
// The shards are files in the directory of the index, or below it: absolute paths, "..",
// and links that lead out of it are refused, and so is a name that is mapped to
// a shard without a tensor of that name. The model has the tensors of the weight map, in
// its order. Tensors of shards that the map does not name are left out; Notes counts
// them. There are at most 65,536 shards, and all are opened with the index. One
// that is itself an index is refused. The model's metadata is that of the index,
// without total_size and total_parameters, and of the shards: for a key of several
// values the first counts. Other keys of the index are ignored. An index that does not
// come from a path needs format.Options.Dir. Behind an io.ReaderAt the index is read
// through it, the shards are mapped.
//
// With format.WriteOptions.MaxShard the writer makes shards and their index, by these names. All
// metadata is in every shard.
//
// # Writing
//
// The writer's files equal the reference's byte for byte: the header without white
// space, metadata first and in the plan's order (that of the reference is by chance), then
// the tensors in the order of their data, by falling position of the dtype in the
// enumeration above, then by name; behind the object spaces up to a multiple of 8. Since
// larger elements come first, everything is aligned. The layout follows from the plan,
// so files stream, tensors that come in another order apart. Listed dtypes of
// the reference are written where rows consist of whole bytes.
//
// The format has no graph and no quantization parameters, and its metadata is strings.
// The writer refuses a plan with more, with the list of what would be lost, and
// format.WriteOptions.AcceptLoss lets it go: other metadata is then converted to its
// JSON text (float64 to its shortest decimal form), which is a LossConversion. A tensor
// called __metadata__ is renamed (LossName), by underscores behind its name.
//
// # Verification
//
// The format has no checksums. Verify compares the headers with what was parsed, and
// touches all data.
package safetensors
