// Package mle reads and writes .mle files, versions 1 and 2: JSON metadata, an
// operator graph, and weights that may be compressed, quantized, cut into
// chunks, encrypted, signed and checksummed.
//
// Everything is little-endian and packed on any host; integers are unsigned. Plain
// weights are views into the mapped file. Compressed and encrypted weights are
// decrypted and decompressed once, for the first tensor in use, and kept until Close;
// chunks are decompressed in parallel, for the tensors that need them. The reader
// allocates no more than a file's bytes and tensors justify.
//
// Opening copies everything but the weights into private memory, since another
// process may write to a mapped file at any moment, and decodes it. Verify says which
// checksum covers what (format.Coverage): "crc32" for header, metadata and graph; for
// tensors "crc32 of the weights", "crc32 of the chunk", "crc32 of the uncompressed
// weights" or "AES-256-GCM"; "sha256 of the file" for what only the signature covers;
// nothing for a version 1 file. With format.CheckTouch the checksum of the weights, or those
// of a tensor's chunks, are checked before the first use.
//
// The specification marks access policies as a future feature. They are left out:
// there is nothing about them in the layout, and neither reader nor writer knows
// them. A file is protected by its key and its signature alone.
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
//	120     -   reserved            to header_size, ignored
//
// The specification says 128 bytes, and its struct adds up to 144; the two differ
// in how many reserved bytes follow byte 120. Readers go by header_size. The writer
// emits 144, or 128 if WriteOptions.HeaderSize says so: the reference implementation
// always takes the checksum of 144 bytes, and refuses signed files with a shorter header.
//
// Sections may come in any order, with gaps between them that mean nothing, but
// neither in the header nor over each other, and the last one ends the file. The
// writer keeps the order metadata, graph, weights, compression, signature, begins
// the weights at a multiple of 64 and the rest at a multiple of 8 (the metadata
// follows the header), and fills gaps with zeros.
//
// Checksums are CRC-32 (IEEE): of the stored bytes of a section, and of header_size
// bytes of the header with header_checksum zeroed; readers take the reference's sum
// over 144 bytes too. A stored 0 in one of these four fields means that the checksum
// was not recorded (File.Notes tells); anywhere else 0 is a value. Those of header,
// metadata and graph are checked on open, that of the weights by Verify.
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
//	0x80 MEMORY_MAPPING     a hint; written when every tensor is stored plainly at a multiple of 64
//
// A flag of COMPRESSION or SIGNING without its section is refused, and a section
// without its flag. Unknown flags are kept and reported.
//
// # Header, version 1
//
//	offset size field
//	  0     4   magic
//	  4     4   version             1
//	  8    16   metadata_offset, metadata_size
//	 24    16   graph_offset, graph_size
//	 40    16   weights_offset, weights_size
//	 56     8   signature_offset    not used; reported when it is not 0
//	 64     -   reserved            the writer writes 8 zero bytes, as exporters do
//
// Sections are found by their offsets. One exporter in the field wrote a header of
// 80 bytes and offsets for one of 64. Such a file is recognized when metadata_offset
// is 64, bytes 64 to 79 are zero, byte 80 is "{" and the file is exactly 16 bytes
// longer than its sections say; then all sections are 16 bytes later.
//
// Another program uses the same magic for a container of a Python pickle: files of
// exactly 24 + a + b bytes, where a and b are the 64-bit words at 8 and 16, with "{"
// at 24 and 80 at 24 + a. They are refused with an error that says so. Pickles are
// programs; nothing here reads them.
//
// # Metadata
//
// One JSON object (RFC 8259) in UTF-8, or nothing: no byte order mark, top-level
// keys unique, without NUL and lone surrogates, at most 1,000 levels deep. Any size. Numbers keep
// their text. The layout has no names for tensors; the writer puts them into
// the entry "tensor_names", an array with one string for each descriptor of the graph,
// placeholders included. They are unique, not empty, without NUL. Files without the
// key have tensors named "tensor_0", "tensor_1" and so on, by descriptor.
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
// The size of a constant is that of its shape. Constants may share or overlap
// bytes. A placeholder's dtype and offset decide nothing and are kept. So an empty
// constant cannot be expressed: the writer refuses it. For a placeholder whose
// dtype has no code or is not known the writer uses 255, and FFFFFFFF for a dim
// that is not fixed.
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
// Operators have these codes; others are kept as numbers:
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
// Version 1 has the same up to 14, 26 and 27, and then 28 SVM, 29 NaiveBayes, 30
// KNN, 31 Clustering, 32 Decomposition; nothing at 15 to 25 and from 33 on. An Op
// means the same in either version, and the writer refuses, by the node's number,
// an operator that the version it writes has no code for.
//
// The layout says nothing of their attributes. Operands are those of the reference implementation, attributes
// are named after what it calls them, and package convert translates by them; it reads none itself, so
// it computes as if they had the defaults, here in parentheses. Images are NCHW, weights OIHW.
//
//	Linear      input (two dims), weights (a row for each output), bias
//	Conv2D      input, weights, bias; stride_h, stride_w (1), pad_h, pad_w (0), at either end
//	MaxPool2D   kernel_h, kernel_w (2), stride_h, stride_w (2), pad_h, pad_w (0)
//	AvgPool2D   the same, and count_include_pad (false)
//	BatchNorm   input, scale, bias, mean, variance; eps (1e-5)
//	LayerNorm   input, scale, bias, over the last dim; eps (1e-5)
//	Softmax     two dims, along the second
//	Add, Mul    two inputs of the same shape
//	MatMul      two matrices
//	Concat      axis (0)
//	Flatten     axis (1): the dims before and from it become one each
//	Reshape     shape, of which one may be -1
//	Transpose   perm (reversed)
//
// Attributes are behind the last node: JSON objects with the rules of the metadata.
// Nodes may share them, and bytes that no node refers to are ignored. Ranges that
// overlap to more than 64 times the room they take are refused (ErrLimit).
//
// Ids count descriptors. In files from the field they may exceed them, since some
// exporters number activations without describing them. Such ids are kept and
// reported. In such a file, when the distinct ids of graph inputs and params are
// exactly num_tensors, they stand for the descriptors in ascending order. In the
// neutral Graph an id without descriptor is the value "value_<id>".
//
// The neutral graph's node inputs are input_ids and then param_ids. Written, the
// inputs at the end that are constants become params, except graph inputs, which
// may have data too, and for MatMul, Add, Mul and Attention: they take all their
// operands from input_ids. The reference implementation computes garbage from
// anything else. Descriptors are numbered as exporters do: graph inputs, then node
// by node inputs, params and outputs, while tensors keep their order.
//
// The layout has no names of nodes and graphs, operator domains, symbols of dims,
// quantization parameters, attributes that are not JSON, other dtypes of inputs and
// outputs than tensors may have, or scalars among these: a plan with such is refused
// with the list of it, unless format.WriteOptions.AcceptLoss
// names it. Operators must be of the list, or decimal codes.
// WriteOptions.IR writes a graph as File.IR returned it.
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
//	16     1   quantization_bits   8 for INT8, 16 for FP16, else 0
//	17     3   padding             0
//
// uncompressed_size is between the end of the last tensor and that rounded up to a
// multiple of 64; anything else is refused on open. The types:
//
//	0 none     stored as they are, zero-copy
//	1 LZ4      one raw block; the writer takes up to 2 GiB less 32 MiB
//	2 ZSTD     one Zstandard frame, no skippable ones, any window size
//	3 Brotli   a raw stream; writing it takes the package mle/brotli, see there
//	4 INT8     f32 scale, u8 zero point, three zero bytes, a byte for each float:
//	           value = (byte - zero point) * scale
//	5 FP16     an IEEE half for each float
//
// 4 and 5 are lossy: the uncompressed weights are float32, and the checksum is that
// of the floats that come out. The reference implementation decodes subnormal halves
// and -0 as 0 before it computes the checksum; readers accept that too (File.Notes tells, once Verify
// has met it), and return the IEEE values. All constants must be float32. Tensors
// appear as float32 with Info.Compression "int8" or "float16". The writer maps the
// range of all values, 0 included, to 0 to 255, and refuses what no byte or half
// stands for.
//
// With CHUNKED_WEIGHTS a table follows:
//
//	20     4   chunk_count
//	24     -   rows of 32 bytes:
//	 0     8   offset in the uncompressed weights
//	 8     8   offset in the stored weights
//	16     8   stored size
//	24     4   CRC-32 of the stored bytes
//	28     4   reserved            0
//
// Rows ascend from uncompressed offset 0; a chunk reaches to the next, the last to
// uncompressed_size. Stored bytes are back to back and fill the section. A chunk is
// stored as a section of its type would be, INT8 with its own scale. A tensor
// takes one chunk or more, with the padding behind it, and no chunk holds parts of
// two tensors that are apart.
//
// # Encryption
//
// The weights section is a nonce of 12 bytes, the AES-256-GCM ciphertext of what
// would be there otherwise, and the tag of 16 bytes. Bytes 0 to 15 of the header
// are authenticated with it. The writer adds a compression section, of type 0 when
// nothing is compressed: readers that do not know the flag then refuse the file for
// the checksum, where they would otherwise compute with ciphertext. Readers do without
// it. Compression comes first; chunk offsets and checksums refer to the decrypted
// section, and weights_checksum to the encrypted one. The key is the caller's
// (format.Options.Key, WriteOptions.Key) and never stored. Without it a file opens
// and its tensors answer ErrKey, and so does Verify after checking everything else;
// a wrong key is ErrKey. The cipher authenticates the section as a whole, which is
// therefore held in memory when it is written and when it is read (as all weights of
// one LZ4 block are). Nonces are random:
// only encrypted files differ when they are written twice.
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
// Trust comes from the caller's key; the one in the file only says who claims to
// have signed. CheckSignature tells apart files that are unsigned, signed by a key
// that is not trusted, valid, and tampered with: when the hash or the signature by
// the key in the file does not fit. Verify demands a valid signature if a trusted key
// is given, and compares the hash alone if none is. Sign signs an existing file: it
// copies it as it is, all its bytes or none, appends or replaces the section, changes
// the header, and puts the copy in place of the file in one step, so a failure leaves
// the old one whole.
package mle
