// Package wia reads and writes WIA-AI-014 files, version 1: metadata, an
// operator graph modeled on ONNX, and tensors, as protobuf messages in four
// blocks behind a fixed header. All integers of the header are little-endian.
//
// # The file
//
//	offset size field
//	  0     4   magic           31 41 49 57 ("1AIW", the number 0x57494131); "WIA1" is read too
//	  4     2   version_major   1; others are refused
//	  6     2   version_minor   any; written 0
//	  8    16   metadata_offset, metadata_size    of the metadata block
//	 24    16   graph_offset, graph_size
//	 40    16   tensor_offset, tensor_size
//	 56    16   signature_offset, signature_size
//	 72     1   compression     of the metadata and graph blocks: 0 none, 1 gzip, 2 zstd
//	 73     1   encryption      0 none, 1 AES-256-GCM
//	 74   182   reserved        written 0, ignored
//	256     -   the blocks
//
// The header is 256 bytes, so reserved has 182 bytes; the specification says
// 214, which does not add up. Blocks follow the header in any order and do not
// overlap. Gaps between them are ignored; bytes after the last block are
// refused. A block of size 0 is empty, if it is neither compressed nor encrypted.
// The writer uses the order above, with a gap only before the tensor block,
// which begins at a multiple of 64.
//
//	metadata    one JSON object, section 5.1 of the specification
//	graph       one Graph message
//	tensor      one TensorData message
//	signature   one SignatureBlock message
//
// The file wia.proto in this directory defines the messages and explains every
// field. Any protobuf library reads and writes the blocks, up to its
// limit of 2 GiB a message; this package has no such limit.
//
// # Compression and encryption
//
// The compression in the header applies to the metadata and graph blocks. Each
// is exactly one gzip member or one zstd frame. It is also the default for
// CompressedTensor messages that do not name a codec. The tensor block is
// never compressed as a whole. Single tensors are, in CompressedTensor messages
// whose inner tensor has no data.
//
// With encryption, each of the three blocks is stored as nonce(12) || AES-256-GCM
// ciphertext || tag(16), encrypted after compression. The name of the block
// ("metadata", "graph", "tensor") is the additional data. An encrypted file does
// not open without the key. GCM has one tag for the whole tensor block, so
// opening decrypts all of it: it takes as much memory as the block has bytes,
// and no tensor is a view into the mapping.
//
// # Tensors
//
// A TensorData message holds the tensors one after the other. Before each, the
// writer inserts a padding field (number 15) so that the tensor's raw_data, the
// last field of its message, begins at a multiple of 64 in the file. So every
// uncompressed tensor is a view into the mapping. Other writers may misalign a
// tensor: its view is then a copy, and a note says so.
//
// The data of a tensor is in exactly one place: in the tensor block, plain or
// compressed; in an external file that the tensor block names; or in an
// initializer of the graph. An initializer without data declares a tensor of
// the same name, dims and dtype, which must exist. Tensors need not be declared.
// Tensors are listed in the order of their records; those of the graph block
// come first if that block is first. In the tensor block, a tensor without
// elements may omit its data.
//
// Tensors in attributes must have data and may be nameless. The initializers of
// subgraphs have a separate scope: those with data are not tensors of the file,
// and those without refer to tensors of the file.
//
// # External data
//
// location is a relative path, with slashes, below the directory of the model (or
// Options.Dir). Opening refuses absolute paths, elements "..", backslashes,
// drives and URLs. Using a file fails if it is not a regular file or if a
// symbolic link leads out of the directory, except as Options.Root says.
// length must be the size of the tensor.
//
// Opening a model opens the files, at most 64, and reads nothing of them; of others it records
// device, inode, size, mtime and ctime. They may be missing, as may the directory if the model was
// not opened by path. A file is mapped, once for all its tensors, when one of them is first used:
// the file that was opened with the model, whatever has taken its place. If it appeared, or its
// content changed since the model was opened, using it fails. Model.Verify checks that the ranges
// exist and match the SHA-256 checksums that are recorded; a range that tensors share is hashed
// once. With a trusted key, external data without a checksum is ErrSignature, since the signature
// does not cover it. The writer always records a checksum.
//
// # Checksums and signatures
//
// The signature block has the SHA-256 of the "header" (256 bytes) and of the
// "metadata", "graph" and "tensor" blocks as stored. All four are required, once
// each; checksums with other names are ignored. Model.Verify compares them;
// opening does not. A file without a signature block has no checksums: it opens
// but does not verify. In the Coverage of a verification, most tensors have
// "sha256 of the tensor block", and external ones have "sha256", or nothing if
// no checksum is recorded. With CheckTouch, the checksum of the block, or of the
// external range, is compared before the first use of a tensor.
//
// The signed message is the four digests in that order, then the timestamp as a little-endian
// int64: 136 bytes. "RSA-SHA256" is PKCS #1 v1.5; "ECDSA" is P-256 with SHA-256, in ASN.1. The
// public key in the file (PKIX DER, optional) only claims who signed. Trust comes from the key that
// the caller gives to Verify, and the key in the file must equal it. Without a trusted key, a key
// in the file must have made the signature: ErrSignature otherwise, from Verify and CheckClaim, not
// from opening. RSA keys there have at most 16,384 bits. The header, which is signed, states the
// size of the signature block, but the length of an ECDSA signature varies: a padding field fills
// the rest.
//
// The signature does not cover the rest of the signature block: the public key,
// padding, unknown fields, and checksums of other blocks. A file stays valid when
// these change.
//
// # Limits
//
// Metadata must be UTF-8 without a byte order mark or lone surrogates, nested at
// most 1,000 levels deep, with unique top-level keys that contain no NUL. Value
// types are not enforced, and unknown keys are preserved. Decompressed metadata
// has at most 64 MiB, a graph 1 GiB, and both at most 256 times their
// stored size, or 16 MiB if that is more.
//
// The contents of a graph, including subgraphs, are counted before any of it is
// built. The limits are 1,048,576 nodes, as many values (inputs and outputs of
// graphs) and properties, 8,388,608 inputs and outputs of nodes, 2,097,152
// attributes with 8,388,608 strings and 67,108,864 numbers, 4,194,304 tensors,
// 33,554,432 dims of tensors and 4,194,304 dims of values. The tensor block has
// at most 4,194,304 tensors, and the limit on dims of a graph.
//
// Unknown fields of messages are skipped when reading and preserved when
// copying. Refused are known fields of another wire type, groups, varints that
// overflow 64 bits, lengths beyond the message, enums beyond int32, invalid UTF-8
// in strings, NUL in names and keys, both arms of a oneof, and more than 100
// levels of messages. Overlong varints, fields in any order, and packed and
// unpacked lists are accepted. If a singular field repeats, the last one counts;
// repeated messages merge.
//
// Graph inputs, graph outputs, initializers of one graph and attributes of one
// node must have unique names; nodes and properties need not. Edges and the
// structure of the graph are not checked.
//
// # ONNX models
//
// The format does not record the versions of operator sets. They are in the
// metadata, under the keys
//
//	opsets      an array of {"domain": "ai.onnx", "version": 17}
//	ir_version  a number
//
// as in the newer upstream text. Copies preserve both, as they do all metadata;
// [File.OperatorSets] reads the first. Values of another form are ordinary metadata.
//
// # Docs
//
// The doc strings and properties of sections 3.2 and 4.1 are the docs of a schema (schema.Doc).
// Tensors, in the tensor block and in attributes, and initializers of graphs have both, graphs
// only properties, and nodes, attributes and values only a doc string. A schema with others is
// refused, or written without them if the loss is accepted. A copy in which a doc changes has the
// unknown fields of its message.
//
// # Choices
//
//   - Node.domain, field 7 as in ONNX, is an extension. A field 7 that is not a
//     name is treated as unknown.
//   - Attributes have ONNX's field numbers. ONNX's sparse tensors and types
//     are preserved as unknown fields. An attribute without a type has the type
//     of its last value field.
//   - An unknown dtype, compression or encryption code is refused where data
//     depends on it. Element types of value infos and attribute types remain
//     numbers.
//   - In a neutral graph, float64 attributes become float32, booleans become 0
//     or 1, and JSON values become text, since ONNX has nothing else. A schema
//     in which this changes a value is refused, unless
//     format.WriteOptions.AcceptLoss has "conversion". A float64 becomes the
//     float32 with the same shortest decimal text, so 0.1 stays 0.1.
//   - A file whose quantization parameters do not fit their tensor opens, but
//     tensor.Decode into float32 returns ErrQuantization. A schema with such
//     parameters is refused, or written without them if the loss is accepted;
//     copies preserve them. Type NONE means no parameters.
//
// # Saving external data
//
// The external data of a model is in one file. Its name is the file name of the
// model (or format.WriteOptions.External), ".wia" unless the name ends in it, a hash of
// the data and of the model that is replaced, and ".data":
//
//	m.wia.3f084b51d810557b.data
//
// The same data over the same model has the same name. Other data is never replaced. The
// old model stays valid until the rename that replaces it, and the new data is on
// stable storage by then. If the rename fails, the new data is removed. A
// name of more than 100 bytes is cut, and a hash of the whole name follows.
//
// Once the new model is in place, the data files of that pattern that the old model named are
// removed, unless a model of this format in the same directory, or in one on the way to the data,
// names them. The writer looks at all files there, by content and by extension. If one of them
// cannot be read, for example because it is encrypted with another key, nothing is removed. Data
// that no model names, since its writer was killed, is removed by the next process that replaces
// the model, once it is a day old. A model that is open keeps the old data it has mapped; using the
// rest fails.
//
// # Copies
//
// format.Writer.WriteModel with the schema of Model.Schema preserves everything in a file,
// including unknown fields and the text of the metadata, unless the schema is changed. To compress,
// encrypt or sign a file, copy it with other options. Checksums and the signature are recomputed,
// and tensors stored in initializers of the graph move to the tensor block.
//
// # Cost of opening
//
// Opening reads every record, and decodes the graph and the metadata once. It
// neither copies nor touches tensor data. The graph block, and what a schema does not hold of
// the tensor block, stay in memory in their encoded form: Native reads no file. Tensors in attributes are views of a
// private copy of the graph block, or of external files.
//
// Another process may write to the file at any moment. So header, metadata, graph,
// signatures and the descriptions of tensors are read once, into private memory,
// in small pieces that skip the data.
package wia
