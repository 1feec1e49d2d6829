// Package mobi reads and writes MOBI, version 1, the model format of a mobile
// runtime: one file with model metadata, the specs of inputs and outputs,
// constant tensors, and the operators that consume them.
//
// # Layout
//
// All numbers are little-endian on any host.
//
//	Header, 32 bytes
//	offset size
//	 0     4  magic           49 42 4F 4D (the number 0x4D4F4249); 4D 4F 42 49 ("MOBI") is read too
//	 4     2  version         1
//	 6     2  reserved        0
//	 8     4  header checksum CRC-32 (IEEE) of these 32 bytes with this field zeroed; 0: not recorded
//	12     4  flags           bit 0 quantized, 1 float16 weights, 2 graph optimized; others kept and ignored
//	16     4  total file size footer included
//	20     4  metadata offset at least 32
//	24     4  tensor data offset
//	28     4  operator graph offset
//
//	Model metadata, at the metadata offset
//	 0     4  name length
//	 4     N  name, may be empty
//	 4+N   4  framework version
//	 8+N   8  creation timestamp, Unix seconds; 0 without WriteOptions.Time
//	16+N   4  input count
//	20+N   4  output count
//	          the input specs, then the output specs, one after the other:
//	 0     4  name length
//	 4     N  name, not empty, unique among inputs or outputs
//	 4+N   2  rank
//	 6+N   2  data type, any code
//	 8+N   8*rank dims, unsigned; 2^64-1 is a dynamic one
//	          up to the tensor data offset: zeros, nothing else
//
//	Constants, one after the other from the tensor data offset exactly to the
//	operator graph offset; there is no count and no padding
//	 0     4  id, unique
//	 4     2  data type in the low 15 bits: 0 float32, 1 float16, 2 int8, 3 int16, 4 int32
//	          bit 15: the data is one gzip member
//	 6     2  rank
//	 8     8*rank dims, unsigned
//	 8+8*rank  8  data size as stored
//	16+8*rank  N  data, row-major
//
//	Operator graph, from its offset exactly to the footer
//	 0     4  operator count, then each operator:
//	 0     2  type: 0 Conv2D, 1 DepthwiseConv2D, ... 18 MatMul; others are kept as numbers
//	 2     2  input count
//	 4     2  output count
//	 6     2  parameter count
//	 8     4*inputs  ids
//	 .     4*outputs ids; they may dangle and repeat
//	          the parameters:
//	 0     2  name length
//	 2     N  name, not empty, unique in the operator
//	 2+N   1  type
//	 3+N   .  value: 0 int32, 1 int64, 2 float32, 3 float64, 4 bool (one byte, 0 or 1),
//	          5 int32 array (int32 count, not negative, then values), 6 float32 array,
//	          and beyond the specification, written only when needed:
//	          7 string (uint32 length, UTF-8), 8 int64 array
//
//	Footer, the last 4 bytes: Adler-32 of all bytes before it; CRC-32 (IEEE) is read too
//
// Names are valid UTF-8 without NUL bytes. Sections are in ascending order, and
// what belongs to one must end within it. A gap between header and metadata is
// ignored. Dims of 0 are allowed and rank 0 means one element; the product of
// the dims that are not 0, times the size of an element, stays below 2^63.
//
// # Opening
//
// Opening reads and checks the whole structure, down to the last operator parameter, and
// the header checksum, and decodes metadata and operators. It touches no data of
// constants. format.Options.MaxMemory counts what the structure is decoded into.
//
// The footer covers every byte, so it is validated before the first byte of any
// constant is returned, through whichever accessor: that first use reads the
// whole file once, and later ones cost nothing more. When the footer is wrong, every
// accessor fails with ErrChecksum; a read that fails is not a verdict and is tried
// again. format.CheckAll validates the footer on open, format.CheckStructure neither
// checksum, then or later. File.Verify always does, and its Coverage says which checksum
// it was: "adler32 of the file" or "crc32 of the file". Both compare the structure with
// what was opened.
//
// # Compression
//
// A constant with bit 15 of its data type set is one gzip member that fills the
// record. Without the bit, data whose size is not that of shape and dtype and
// that begins 1F 8B is taken for one too: an older writer produces it.
// Members are inflated on first use, once, and cached. They must
// yield exactly the bytes of the shape, with a correct trailer and nothing
// behind it; a size out of proportion must be proved by the stream before memory
// is allocated for it. File.Verify inflates them too, without keeping anything.
//
// # Alignment
//
// The layout has no room for padding between constants, but every record header
// takes a multiple of 8 bytes. So the writer begins with the constants whose
// data takes a multiple of 8 bytes, then those of 4, of 2, and the rest,
// compressed ones last, each group in the order of the plan, and it pads before
// the first constant such that its data begins at a multiple of 64: every
// uncompressed constant is aligned for its dtype and is viewed without a
// copy. Files in any order are read; a misaligned constant is copied, and its
// view says so. Files without compression are streamed.
//
// # Names and graph
//
// The name of a tensor is its id in decimal. Specs carry no ids. When as many
// ids are consumed by operators and defined by nothing as there are inputs,
// they are the inputs, in ascending order; likewise ids that are produced and
// never consumed and the outputs. Otherwise File.Graph leaves them numbers.
//
// A writer given a neutral graph numbers its edges accordingly: names that are
// decimal ids stand for themselves, the inputs get the lowest free ids, then
// the values between operators as they appear, then the outputs. A graph whose
// inputs and outputs a reader could not find again is refused. So is everything
// else that the file cannot hold, with the list of it all: names of nodes, symbols
// of dims, metadata other than the four fields, tensor names that are not ids.
// What format.WriteOptions.AcceptLoss names is left out, and tensors get the lowest
// free ids in the order of the plan before anything else does.
//
// With format.WriteOptions.KeepNames, which package convert sets, the writer adds to the first operator that consumes a constant as input i the parameter
// input{i}_name (string). Without operators it adds some of type 22349 (0x574D), which
// consume up to 8192 constants each, make nothing, and carry those parameters, the
// quantization, and fields (string): the metadata fields that the plan had, with blanks
// between. To other readers, and to this package's, they are of an unknown type;
// package convert takes them out.
//
// # Operators
//
// The specification has the operators' names alone. Their parameters are as its reference implementation
// reads them, and ours where it has none; package convert translates by them. Images are NCHW, weights OIHW. "int32s" is an int32
// array, of height and width where it has two elements.
//
//	Conv2D           input, weights, bias (may be missing); kernel_size int32s, as the weights have it;
//	                 stride int32s (1, 1), padding int32s, at either end (0, 0), dilation int32s (1, 1), groups (1)
//	DepthwiseConv2D  the same without groups: each channel on its own, weights of shape channels, 1, height, width
//	FullyConnected   input, weights (a row for each output), bias (may be missing); an input of more than two dims is flattened from its second on
//	MaxPool2D        kernel_size int32s (2, 2), stride int32s (kernel_size), padding int32s (0, 0)
//	AvgPool2D        the same, and count_include_pad bool (false)
//	BatchNorm        input, scale, bias, mean, variance; epsilon float32 (1e-5)
//	Softmax          axis (-1)
//	Add, Subtract, Multiply, Divide   two inputs of the same shape
//	Concat           axis, or dim, from 0 (0)
//	Reshape          shape int32s, of which one may be -1
//	Flatten          axis (1): the dims before and from it become one each
//	Transpose        perm int32s (reversed)
//	MatMul           two matrices
//	Relu, Sigmoid, Tanh   without parameters
//
// # Quantization
//
// The operator that consumes a constant as input i (from 0) carries
// input{i}_scale (float32, or a float32 array), input{i}_zero_point (int32 or an
// int32 array; missing means 0, one value serves an array of scales), and for
// scales per channel input{i}_axis (int32): real = (q - zero point) * scale. They
// show in Info().Quant of the constant and stay parameters of the operator.
// Parameters that contradict themselves, the shape, or those of another consumer
// do not keep a file from opening: asking for real values (tensor.Decode to
// floats) is ErrQuantization. So is a zero point or axis without a scale.
//
// # From the specification's classes
//
//	MobileModelFormat(path, bytes, stream), ModelSerializer.Load   Open, OpenBytes, OpenReaderAt, OpenFile
//	Header, Metadata, Inputs, Outputs                              File.Header, Name, FrameworkVersion, Timestamp, Inputs, Outputs
//	ConstantTensors, ConstantTensor.ToTensor                       File.Constants, File.Constant, tensor.View.Clone; Constant.ToTensor
//	Operators                                                      File.Operators, File.Graph
//	ModelWriterConfig, MobileModelWriter, ModelSerializer.Save     Config with Bytes, WriteTo, Save; as a stream Create, NewWriter
//	ModelSerializer.Validate                                       Validate, ValidateBytes
//	CreateSpec, CreateTensor                                       NewSpec, NewTensor, NewTensorBytes
//
// # The reference writer
//
// The MobileModelWriter of ml-framework emits another layout under the same
// magic: a header of 30 bytes, without the reserved field and with the metadata
// at 30, a total size without the footer, a count before the constants, and an
// Adler-32 over four bytes too few. Nothing reads it. Such a file is refused with
// ErrUnsupported and an error that says what it is.
//
// # Errors
//
// Every error about a file is a *format.Error with field and offset. Wrong magic
// is ErrMagic, another version ErrVersion, a sum that does not match ErrChecksum,
// data types and parameter types without a meaning ErrUnsupported, records that
// do not fit their section and files shorter than they say ErrTruncated, all
// other contradictions ErrCorrupt.
package mobi
