// Package mle reads and writes .mle files, versions 1 and 2. A file has JSON
// metadata, an operator graph, and weights, which may be compressed, quantized,
// split into chunks, encrypted, signed and checksummed.
//
// All fields are little-endian and packed; integers are unsigned. Uncompressed,
// unencrypted weights are views into the mapped file. Other weights are decrypted
// and decompressed once, when a tensor is first used, and remain in memory until
// Close. Chunks are decompressed in parallel, and only for the tensors that need
// them. The reader allocates no more memory than the file's size and tensors justify.
//
// Opening copies everything but the weights into private memory and decodes it, since
// another process may write to a mapped file at any moment. The format.Coverage of
// Verify names the checksums: "crc32" for header, metadata and graph; "crc32 of the
// weights", "crc32 of the chunk", "crc32 of the uncompressed weights" or
// "AES-256-GCM" for tensors; "sha256 of the file" for what only the signature
// covers; nothing for a version 1 file. With format.CheckTouch, the checksum of the
// weights, or those of a tensor's chunks, are compared before the first use.
//
// The specification lists access policies as a future feature. The layout does not
// mention them, and this package does not support them: only its key and its
// signature protect a file.
//
// # Header, version 2
//
//	offset size field
//	  0     4   magic               4D 4C 45 00, "MLE" and a zero byte
//	  4     4   version             2
//	  8     4   feature_flags       see below
//	 12     4   header_size         128 or 144
//	 16    16   metadata_offset, metadata_size
//	 32    16   graph_offset, graph_size
//	 48    16   weights_offset, weights_size          as stored
//	 64    16   signature_offset, signature_size      0, 0 without one
//	 80    16   compression_offset, compression_size  0, 0 without one
//	 96     4   metadata_checksum
//	100     4   graph_checksum
//	104     4   weights_checksum
//	108     4   header_checksum
//	112     4   min_reader_version  above 2 the file is refused
//	116     4   writer_version
//	120     -   reserved bytes up to header_size, ignored
//
// The specification's text has 128 bytes and its struct 144; they differ in the number
// of reserved bytes after byte 120. Readers use header_size. The writer uses 144, or
// 128 if Format.HeaderSize is 128: the reference implementation always computes
// the checksum of 144 bytes, and refuses signed files with a shorter header.
//
// Sections may be in any order, with gaps between them, which are ignored. They must
// not overlap each other or the header, and the last one ends the file. The writer
// uses the order metadata, graph, weights, compression, signature. The metadata
// follows the header, the weights begin at a multiple of 64 and other sections at a
// multiple of 8, and gaps are filled with zeros.
//
// Checksums are CRC-32 (IEEE) of the stored bytes of a section, and of header_size
// bytes of the header with header_checksum zeroed. Readers also accept the
// reference's header checksum, of 144 bytes. In these four fields 0 means that no
// checksum was recorded, which File.Notes reports; in other fields 0 is a value. The
// checksums of header, metadata and graph are compared on open, that of the weights
// by Verify.
//
// feature_flags:
//
//	0x01 COMPRESSION        there is a compression section
//	0x02 ENCRYPTION         the weights are encrypted
//	0x04 SIGNING            there is a signature section
//	0x08 STREAMING          a hint
//	0x10 QUANTIZATION       a hint; written for INT8 and FP16
//	0x20 EXTENDED_METADATA  a hint
//	0x40 CHUNKED_WEIGHTS    with COMPRESSION: there is a chunk table; else ignored
//	0x80 MEMORY_MAPPING     a hint; written if every tensor is uncompressed and at a multiple of 64
//
// COMPRESSION or SIGNING without its section is refused, and so is a section without
// its flag. Unknown flags are preserved, and File.Notes reports them.
//
// # Header, version 1
//
//	offset size field
//	  0     4   magic
//	  4     4   version             1
//	  8    16   metadata_offset, metadata_size
//	 24    16   graph_offset, graph_size
//	 40    16   weights_offset, weights_size
//	 56     8   signature_offset    not used; File.Notes reports a value other than 0
//	 64     -   the writer writes 8 zero bytes, as exporters do
//
// Sections are located by their offsets. One exporter wrote a header of 80 bytes but
// offsets for one of 64. Such a file is recognized if metadata_offset is 64, bytes
// 64 to 79 are zero, byte 80 is "{", and the file is exactly 16 bytes longer than its
// sections require. All sections are then 16 bytes later.
//
// Another program uses the same magic number for a container of a Python pickle:
// files of exactly 24 + a + b bytes, where a and b are the 64-bit words at 8 and 16,
// with "{" at 24 and 80 (hexadecimal) at 24 + a. They are refused with an error that
// identifies them. Pickles are programs and are never read.
//
// # Metadata
//
// The metadata is one JSON object (RFC 8259) in UTF-8, or empty. It has no byte order
// mark and at most 1,000 levels; top-level keys are unique, without NUL and lone
// surrogates. Its size is not limited, and numbers keep their text. The layout has no
// names for tensors. The writer stores them in the entry "tensor_names", an array
// with one string for each descriptor of the graph, including placeholders. Names are
// unique, not empty, and without NUL. In files without the entry, tensors are named
// "tensor_0", "tensor_1" and so on, by descriptor.
//
// # Graph
//
//	offset size field
//	  0     4   num_nodes
//	  4     4   num_tensors
//	  8     4   num_inputs          up to 16
//	 12     4   num_outputs         up to 16
//	 16    64   input_ids           16 numbers of 4 bytes; unused ones are ignored
//	 80    64   output_ids
//	144     -   num_tensors descriptors, num_nodes nodes, then attributes
//
// A descriptor, 56 bytes:
//
//	 0     8   offset              in the uncompressed weights
//	 8     8   size                in bytes; 0 for a placeholder, a value without data
//	16     4   ndim                up to 8, for placeholders too
//	20    32   shape               8 numbers of 4 bytes; those after ndim are ignored
//	52     1   dtype               0 float32, 1 float16, 2 int8, 3 int32
//	53     3   reserved            ignored
//
// The size of a constant must match its shape. Constants may share or overlap bytes.
// The dtype and offset of a placeholder have no effect and are preserved. Since size
// 0 means a placeholder, the writer refuses empty constants. For a placeholder, the
// writer uses dtype 255 if the dtype is unknown or has no code, and FFFFFFFF for a
// dim that is not fixed.
//
// A node, 208 bytes:
//
//	  0     2   op                  see below
//	  2     6   num_inputs, num_outputs, num_params   2 bytes each, up to 16
//	  8    64   input_ids
//	 72    64   output_ids
//	136    64   param_ids
//	200     4   attr_offset         from the start of the graph section
//	204     4   attr_size           0 for none
//
// Operators have these codes; others remain numbers:
//
//	 1 Linear      2 ReLU         3 GELU           4 Softmax       5 LayerNorm
//	 6 MatMul      7 Add          8 Mul            9 Conv2D       10 MaxPool2D
//	11 BatchNorm  12 Dropout     13 Embedding     14 Attention    15 AvgPool2D
//	16 Conv1D     17 MaxPool1D   18 AvgPool1D     19 Flatten      20 Reshape
//	21 Transpose  22 Concat      23 Split         24 Slice        25 Pad
//	26 DecisionTree              27 TreeEnsemble                  28 GradientBoosting
//	29 SVM        30 NaiveBayes  31 KNN           32 Clustering   33 DBSCAN
//	34 Decomposition             35 TransformerBlock              36 MultiHeadAttention
//	37 PositionalEncoding        38 CrossAttention
//
// Version 1 has the same codes 1 to 14, 26 and 27, then 28 SVM, 29 NaiveBayes, 30 KNN,
// 31 Clustering, 32 Decomposition; it has no codes 15 to 25 and none above 32. An Op
// means the same in either version. The writer refuses an operator for which the
// version being written has no code; the error has the number of the node.
//
// The layout does not define attributes. The operands below are those of the
// reference implementation, and the attributes have the names of its parameters;
// package convert translates operators by this list. The reference implementation
// reads no attributes and always computes with the defaults, which are in
// parentheses. Images are NCHW, weights OIHW.
//
//	Linear      input (two dims), weights (a row for each output), bias
//	Conv2D      input, weights, bias; stride_h, stride_w (1), pad_h, pad_w (0), at both ends
//	MaxPool2D   kernel_h, kernel_w (2), stride_h, stride_w (2), pad_h, pad_w (0)
//	AvgPool2D   the same, and count_include_pad (false)
//	BatchNorm   input, scale, bias, mean, variance; eps (1e-5)
//	LayerNorm   input, scale, bias, over the last dim; eps (1e-5)
//	Softmax     two dims, along the second
//	Add, Mul    two inputs of the same shape
//	MatMul      two matrices
//	Concat      axis (0)
//	Flatten     axis (1): the dims before it become one dim, and the dims from it on another
//	Reshape     shape, one dim of which may be -1
//	Transpose   perm (reversed)
//
// Attributes follow the last node: JSON objects with the rules of the metadata. Nodes
// may share them, and bytes that no node refers to are ignored. If the ranges of the
// nodes add up to more than 64 times the space they occupy, the file is refused
// (ErrLimit).
//
// Ids are indexes of descriptors. Some exporters also number activations without
// describing them, so ids may be too large; they are preserved, and File.Notes
// reports them. In such a file, if the number of distinct ids of graph inputs and
// params is num_tensors, they refer to the descriptors in ascending order. In the
// neutral Graph, an id without a descriptor is the value "value_<id>".
//
// The inputs of a node in the neutral graph are its input_ids, then its param_ids.
// The writer makes the trailing inputs that are constants params, except graph
// inputs, which may have data too. MatMul, Add, Mul and Attention take all operands
// from input_ids: with params, the reference implementation computes garbage.
// Descriptors are numbered as by exporters: graph inputs first, then the inputs,
// params and outputs of each node, while tensors keep their order.
//
// The layout has no names of nodes and graphs, operator domains, symbolic dims,
// quantization parameters, or attributes that are not JSON. Graph inputs and outputs
// must have a dtype that tensors may have, and must not be scalars. A schema with any of
// these is refused with an error that lists them all, unless
// format.WriteOptions.AcceptLoss names them. Operators must be in the list above or be
// decimal codes. Format.IR writes a graph exactly as File.IR returned it.
//
// # Weights and compression
//
// The writer puts each tensor at a multiple of 64 in the uncompressed weights.
//
// The compression section begins with a header of 20 bytes:
//
//	 0     1   type                see below
//	 1     1   level               1 to 9
//	 2     2   reserved            0
//	 4     8   uncompressed_size
//	12     4   checksum            CRC-32 of the uncompressed weights
//	16     1   quantization_bits   8 for INT8, 16 for FP16, else 0; other values are refused
//	17     3   padding             0
//
// No checksum covers the level and quantization_bits of an unsigned file, as Verify reports.
//
// uncompressed_size is the end of the last tensor, or more, up to the next multiple of
// 64; other values are refused on open. The types:
//
//	0 none     not compressed, zero-copy
//	1 LZ4      one raw block; the writer accepts up to 2 GiB less 32 MiB
//	2 ZSTD     one Zstandard frame, no skippable frames, any window size
//	3 Brotli   a raw stream; writing it requires package mle/brotli
//	4 INT8     f32 scale, u8 zero point, three zero bytes, a byte for each float:
//	           value = (byte - zero point) * scale
//	5 FP16     an IEEE half for each float
//
// Types 4 and 5 are lossy: the uncompressed weights are float32, and the checksum is
// that of the decoded floats. The reference implementation decodes subnormal halves
// and -0 as 0 before it computes the checksum. Readers also accept that checksum,
// which File.Notes reports after Verify, and return the IEEE values. All constants
// must be float32. Tensors are float32 with Info.Compression "int8" or "float16". The
// writer maps the range of all values, including 0, to 0 to 255, and refuses values
// that a byte or half cannot represent.
//
// With CHUNKED_WEIGHTS a table follows:
//
//	20     4   chunk_count
//	24     -   rows of 32 bytes:
//	 0     8   offset              in the uncompressed weights
//	 8     8   stored offset       in the stored weights
//	16     8   stored size         in bytes
//	24     4   checksum            CRC-32 of the stored bytes
//	28     4   reserved            0
//
// Rows are in ascending order, from uncompressed offset 0. A chunk ends where the next
// begins, and the last at uncompressed_size. The stored bytes are contiguous and fill
// the section. Each chunk is stored like a section of its type; in INT8, each has a
// scale. A tensor takes one or more chunks, including the padding behind it, and no
// chunk holds parts of two tensors, unless these overlap.
//
// # Encryption
//
// The weights section has a nonce of 12 bytes, the AES-256-GCM ciphertext of the
// section, and the tag of 16 bytes. The tag also authenticates bytes 0 to 15 of the
// header. The writer always adds a compression section, of type 0 if the weights are
// not compressed: readers that ignore the flag then fail on its checksum instead of
// computing with ciphertext. Readers do not require it. Weights are compressed before
// they are encrypted; chunk offsets and checksums refer to the decrypted section, and
// weights_checksum to the encrypted one.
//
// The key comes from the caller (format.Options.Key, format.WriteOptions.Key) and is never
// stored. A file opens without it, but using a tensor fails with ErrKey, and so does
// Verify after checking everything else. A wrong key is also ErrKey. Since the cipher
// authenticates the section as a whole, all of it is in memory while it is written
// and read, as with a single LZ4 block. Nonces are random, so writing an encrypted
// file twice gives different bytes.
//
// # Signature
//
//	  0     1   algorithm           1, Ed25519
//	  1     1   hash_algorithm      1, SHA-256
//	  2     2   reserved            ignored
//	  4     8   timestamp           Unix seconds; not covered by the signature
//	 12    32   public_key
//	 44    64   signature           of the 32 bytes of model_hash
//	108    32   model_hash          of all bytes of the file but this section
//
// Trust comes from the caller's key; the key in the file only claims who signed. CheckSignature
// reports whether a file is unsigned, signed with an untrusted key, valid, or tampered with, which
// means that the hash, or the signature by the key in the file, does not match, or that the file
// has changed since it was opened. With a trusted key, Verify requires a valid signature; without
// one, it compares the hash, and the key in the file must have made the signature (ErrSignature
// otherwise, also from CheckClaim, which compares no hash). Opening checks neither. Sign signs an
// existing file: it copies the file, adds or replaces the section, updates the header, and renames
// the copy over the file. If it fails, the old file is untouched.
package mle
