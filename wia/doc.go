// Package wia reads and writes WIA-AI-014 files, version 1: metadata, an
// operator graph after ONNX, and tensors, in protobuf messages between fixed
// offsets. All integers of the header are little-endian.
//
// # The file
//
//	offset  size
//	0       4     magic 0x57494131: on disk 31 41 49 57 ("1AIW"); "WIA1" is read too
//	4       2     major version, 1; others are refused
//	6       2     minor version, any; written 0
//	8       16    metadata block: offset, size (uint64 each)
//	24      16    graph block
//	40      16    tensor block
//	56      16    signature block
//	72      1     compression of the metadata and graph blocks: 0 none, 1 gzip, 2 zstd
//	73      1     encryption: 0 none, 1 AES-256-GCM
//	74      182   reserved: written 0, ignored
//	256           the blocks
//
// The header is 256 bytes, so that reserved has 182 bytes (the specification
// says 214, which would not add up). Blocks are in any order, after the header,
// and do not overlap; gaps between them mean nothing, bytes after the last are
// refused. A block of size 0 is empty, if it is neither compressed nor encrypted.
// The writer puts them in the order above, without gaps but one before the
// tensor block, which begins at a multiple of 64.
//
//	metadata    one JSON object, section 5.1 of the specification
//	graph       one Graph message
//	tensor      one TensorData message
//	signature   one SignatureBlock message
//
// The messages are those of wia.proto, in this directory, with every field
// explained. Any protobuf library reads and writes the blocks, up to its own
// limit of 2 GiB a message; this package has none.
//
// # Compression and encryption
//
// The header's compression applies to the metadata and the graph block, each one
// gzip member or one zstd frame and no byte more. It also names the codec of those
// CompressedTensor messages that do not name their own. The tensor block is never
// compressed as a whole: single tensors are, in CompressedTensor messages whose
// inner tensor carries no data.
//
// With encryption, each of the three blocks is nonce(12) || AES-256-GCM
// ciphertext || tag(16), made from the block as it would be stored otherwise
// (after compression). The name of the block ("metadata", "graph", "tensor") is
// the additional data. Without the key such a file does not open. An encrypted
// tensor block is decrypted as a whole on open, since GCM has one tag for all of
// it: it takes as much memory as it has bytes, and no tensor is a view into the
// mapping.
//
// # Tensors
//
// A TensorData message holds the tensors one after the other. Before each, the
// writer puts a padding field (number 15) of such a length that the tensor's
// raw_data begins at a multiple of 64 in the file. raw_data is the last field of
// its message. So every tensor that is stored plainly is a view into the mapping.
// Other writers may misalign a tensor: its view is a copy, and a note says so.
//
// A tensor's data is in exactly one place: in the tensor block, plain or
// compressed, in an external file that the tensor block names, or in an
// initializer of the graph that carries data itself. Initializers without data
// declare a tensor of the same name, dims and dtype, which must exist. Tensors
// need not be declared. File order is that of the records: those of the graph
// block come first if that block is first. A tensor without elements may omit
// its data in the tensor block.
//
// Tensors inside attributes carry their own data and may be nameless. The
// initializers of subgraphs have a scope of their own: with data they are no
// tensors of the file; without, they name tensors of it.
//
// # External data
//
// location is a relative path with slashes below the directory of the model (or
// Options.Dir). Absolute paths, elements "..", backslashes, drives and URLs are
// refused on open; symbolic links that lead out, and what is no regular file,
// when the file is used (os.Root sees to that: any absolute link, and any that
// passes through a directory outside, leads out even if it comes back). length
// must be the tensor's size. Opening only looks the files up by name and records
// device, inode, size and modification time; they may be missing, and so may the
// directory of a model that was not opened by path. They are mapped when a tensor
// in them is first asked for, one mapping for all their tensors, and compared with
// that record: a file that came or changed in between is an error. Model.Verify
// checks that ranges exist and, where a checksum is recorded, their SHA-256; ranges
// that tensors share are hashed once. With a trusted key, external data without a
// checksum is ErrSignature, since the signature would not cover it. The writer
// always records one.
//
// # Checksums and signatures
//
// The signature block holds the SHA-256 of four things: "header" (the 256 bytes)
// and the "metadata", "graph" and "tensor" blocks, as stored. All four are
// required, once each; sums of anything else are ignored. They are compared by
// Model.Verify, not on open. A file without signature block opens, but does not
// verify: it carries no checksums. The Coverage of a verification says "sha256 of
// the tensor block" for most tensors, "sha256" for external ones, and nothing for
// external ones without a checksum. With CheckTouch the sum of the block, or of
// the external range, is compared before the first use of a tensor.
//
// What is signed is the four digests in that order, then the timestamp as a
// little-endian int64, 136 bytes in all: "RSA-SHA256" is PKCS #1 v1.5, "ECDSA" is
// P-256 with SHA-256 in ASN.1. The public key in the file (PKIX DER, optional)
// only says who claims to have signed; trust comes from the key the caller gives
// to Verify, which the file's must equal. The length of an ECDSA signature varies
// while the header, which is signed, states the size of the block: a padding
// field fills up the rest.
//
// The signature covers the four digests and the timestamp. It does not cover the rest of the
// signature block: the public key, which may be missing, padding, unknown fields, and checksums
// of other blocks. A file stays valid when these change.
//
// # What is refused
//
// Metadata must be UTF-8 without byte order mark and lone surrogates, with unique
// top-level keys without NUL and at most 1,000 levels; value types are not
// enforced, unknown keys are kept. Inflated, it has at most 64 MiB, the graph
// 1 GiB, and both at most 256 times their stored size, or 16 MiB if that is more.
//
// What a graph has is counted before any of it is built, subgraphs included: at
// most 1,048,576 nodes, as many values (inputs and outputs of graphs) and
// properties, 8,388,608 inputs and outputs of nodes, 2,097,152 attributes,
// 8,388,608 strings and 67,108,864 numbers in them, 4,194,304 tensors, and
// 33,554,432 dims of tensors and 4,194,304 of values. The tensor block has at most 4,194,304 tensors and
// as many dims as a graph.
//
// Messages may have unknown fields, which are skipped, and kept by copies. Known
// fields of another wire type, groups, varints that overflow 64 bits, lengths
// beyond the message, enums beyond int32, invalid UTF-8 in strings, NUL in names
// and keys, both arms of a oneof, and more than 100 levels of messages are
// refused. Overlong varints, fields in any order, packed and unpacked lists are
// fine; of a singular field that repeats the last counts, messages merge.
//
// Graph inputs, graph outputs, initializers of one graph and attributes of one
// node have unique names; nodes and properties need not. Edges and the structure
// of the graph are not checked.
//
// # ONNX models
//
// The format does not record the versions of operator sets. They are in the
// metadata, under the keys
//
//	opsets      an array of {"domain": "ai.onnx", "version": 17}
//	ir_version  a number
//
// as the newer upstream text has it. Both are kept by copies as all metadata is;
// [File.OperatorSets] and [File.IRVersion] read them. Values of another form are
// ordinary metadata.
//
// # Choices
//
//   - Node.domain, field 7 as in ONNX, is ours. A field 7 that is no name is
//     treated as unknown.
//   - Attributes have ONNX's field numbers without sparse tensors and types,
//     which are kept as unknown fields. An attribute without type has the type
//     of the last value field it holds.
//   - A dtype, compression or encryption code that is not known is refused where
//     data depends on it; element types of value infos and attribute types are
//     kept as numbers.
//   - In a neutral graph, float64 attributes become float32, booleans 0 and 1,
//     JSON values text: ONNX has nothing else. A plan where that changes
//     something is refused, unless format.WriteOptions.AcceptLoss has
//     "conversion"; a float64 is taken to be the float32 of the same shortest
//     decimal text, so 0.1 stays 0.1.
//   - Quantization parameters that do not fit their tensor let the file open;
//     tensor.Decode into float32 answers ErrQuantization. A plan with such
//     parameters is refused, or written without them if the loss is accepted; copies
//     keep them. Type NONE means that there are none.
//
// # Saving external data
//
// The data of one model is in one file, whose name is that of the model
// (WriteOptions.External says another), ".wia" unless it ends so, a hash of its content, and ".data":
//
//	m.wia.3f084b51d810557b.data
//
// So the same model gives the same names, and other data is never replaced: the
// old model stays whole until the rename that puts the new one in its place, by when the
// data of the new one is on stable storage. If that fails, the new data is removed. A name of
// more than 100 bytes is cut, and a hash of it follows.
//
// Once the new model is in place, older files of that pattern are removed,
// unless a model of this format in the same directory (or in one on the way to the data)
// names them. All files there are looked at for that, by content and by ending. Nothing is
// removed when one of them cannot be read (an encrypted one by another key), and only what
// the replaced model named while somebody seems to write there: while there is a temporary
// file of any model that its writer has locked or, where that cannot be told, of less than a day. A model without external data removes none. A model that is open for the
// old data keeps what it mapped; what it did not use by then is an error.
//
// # Copies
//
// format.Copy with format.PlanOf keeps everything a file says, unknown fields and the text of
// the metadata included, as far as the plan was not changed. So a file is compressed, encrypted
// or signed by a copy with other options. Checksums and signature are made anew, and tensors
// that initializers of the graph carry move to the tensor block.
//
// # Cost of opening
//
// Opening looks at every record, but neither copies nor touches tensor data. The graph and the
// metadata are decoded then, once. Tensors in attributes are views of a private copy of the
// graph block, or of external files.
//
// Another process may write to the file at any moment. So header, metadata, graph, signatures
// and the descriptions of tensors are read once, into private memory, in small pieces that skip
// the data.
package wia
