// Package mobi reads and writes MOBI version 1, the model format of a mobile
// runtime. A file has model metadata, the specs of inputs and outputs, constant
// tensors, and the operators that consume them.
//
// # Layout
//
// All numbers are little-endian.
//
//	Header, 32 bytes
//	offset size
//	 0     4  magic                  49 42 4F 4D (the number 0x4D4F4249)
//	                                 4D 4F 42 49 ("MOBI") is read too
//	 4     2  version                1
//	 6     2  reserved               0
//	 8     4  header checksum        CRC-32 (IEEE) of these 32 bytes with this field zeroed
//	                                 0: not recorded
//	12     4  flags                  bit 0 quantized, 1 float16 weights, 2 graph optimized
//	                                 others preserved and ignored
//	16     4  total file size        including the footer
//	20     4  metadata offset        at least 32
//	24     4  tensor data offset     behind the specs
//	28     4  operator graph offset  behind the constants
//
//	Model metadata, at the metadata offset
//	 0     4  name length            in bytes
//	 4     N  name                   may be empty
//	 4+N   4  framework version      any number
//	 8+N   8  creation timestamp     Unix seconds; 0 without format.WriteOptions.Time
//	16+N   4  input count            number of input specs
//	20+N   4  output count           number of output specs, which follow the input specs
//
//	A spec; behind the last one are zeros up to the tensor data offset
//	 0     4  name length            at least 1
//	 4     N  name                   unique among inputs or outputs
//	 4+N   2  rank
//	 6+N   2  data type              any code
//	 8+N   8*rank dims               unsigned; 2^64-1 is a dynamic dim
//
//	A constant; they follow each other from the tensor data offset to the operator graph offset
//	 0     4  id                     unique
//	 4     2  data type              the low 15 bits: 0 float32, 1 float16, 2 int8, 3 int16, 4 int32
//	          bit 15: the data is one gzip member
//	 6     2  rank
//	 8     8*rank dims               unsigned
//	 8+8*rank  8  data size          as stored; the data follows, row-major
//
//	Operator graph, from its offset exactly to the footer
//	 0     4  operator count         number of operators, which follow
//
//	An operator
//	 0     2  type                   0 Conv2D, 1 DepthwiseConv2D, ... 18 MatMul; others remain numbers
//	 2     2  input count            number of ids
//	 4     2  output count           number of ids
//	 6     2  parameter count        number of parameters, which follow
//	 8     4*inputs inputs           ids
//	 -     4*outputs outputs         ids; they may be undefined and may repeat
//
//	A parameter
//	 0     2  name length            at least 1
//	 2     N  name                   unique in the operator
//	 2+N   1  type
//	 3+N   -  value                  0 int32, 1 int64, 2 float32, 3 float64, 4 bool (a byte, 0 or 1),
//	          5 int32 array (int32 count, not negative, then values), 6 float32 array,
//	          extensions, written only when needed:
//	          7 string (uint32 length, UTF-8), 8 int64 array
//
//	Footer, the last 4 bytes: Adler-32 of all bytes before it; CRC-32 (IEEE) is read too
//
// Names are valid UTF-8 without NUL bytes. Sections are in ascending order, and
// their contents must end within them. A gap between header and metadata is
// ignored. Dims of 0 are allowed, and rank 0 means one element. The product of
// the dims other than 0, times the size of an element, must be below 2^63.
//
// # Opening
//
// Opening reads and checks the whole structure, down to the last operator
// parameter, compares the header checksum, and decodes metadata and operators. It
// does not touch the data of constants. format.Options.MaxMemory limits the
// memory of the decoded structure.
//
// The footer covers every byte, so it is checked before any accessor returns the
// first byte of a constant. That first use reads the whole file once; later uses
// do not. If the footer is wrong, every accessor fails with ErrChecksum. A failed
// read decides nothing: the next use checks again. format.CheckAll checks the
// footer on open; with format.CheckStructure neither checksum is checked, on open
// or later. File.Verify always checks both, and its Coverage names the checksum:
// "adler32 of the file" or "crc32 of the file". The check on first use and Verify
// also compare the structure with the one that was opened.
//
// # Compression
//
// If bit 15 of a constant's data type is set, its data is one gzip member. An older
// writer does not set the bit, so data that begins with 1F 8B and does not have the
// size that shape and dtype require is also read as a gzip member. A member is
// decompressed once, on first use, and cached. It must yield exactly the bytes of
// the tensor, with a correct trailer and nothing behind it. If the claimed size is
// out of proportion, the stream must prove it before memory is allocated.
// File.Verify decompresses every member and discards the data.
//
// # Alignment
//
// The layout has no padding between constants, but the size of every record header
// is a multiple of 8. So the writer begins with the constants whose data takes a
// multiple of 8 bytes, then those of 4, of 2, and the rest, and puts
// compressed ones last. Each group is in the order of the schema. It pads before the
// first constant so that its data begins at a multiple of 64. Every uncompressed
// constant is then aligned for its dtype and viewed without a copy. Readers accept
// any order; a misaligned constant is copied, and its view says so. Files without
// compression are streamed.
//
// # Names and graph
//
// The name of a tensor is its id in decimal. Specs have no ids. If the number of
// ids that operators consume and nothing defines equals the number of inputs, they
// are the inputs, in ascending order. Likewise, ids that are produced and never
// consumed are the outputs. Otherwise File.Graph shows them as numbers.
//
// A writer given a neutral graph numbers its edges so that readers find the inputs
// and outputs again: names that are decimal ids keep those ids, the inputs get the
// lowest free ids, then the values between operators in order of appearance, then
// the outputs. A graph for which this fails is refused. So is everything else that
// the file cannot hold: names of nodes, symbols of dims, metadata other than the
// four fields, and tensor names that are not ids. The error lists all of them.
// What format.WriteOptions.AcceptLoss names is left out, and tensors get the lowest
// free ids, in the order of the schema, before anything else does.
//
// With format.WriteOptions.KeepNames, which package convert sets, the writer stores
// names in string parameters: input{i}_name belongs to the first operator that
// consumes the constant, as input i. If there are no operators, it adds some of type
// 22349 (0x574D). Each consumes up to 8192 constants, produces nothing, and has
// those parameters, the quantization, and the string parameter fields, which lists
// the metadata fields of the schema, separated by blanks. Readers, including this
// package, see operators of an unknown type; package convert removes them.
//
// # Operators
//
// The specification only names the operators. Their parameters below are those that
// its reference implementation reads, with extensions where it reads none. Package
// convert translates operators by this list. Images are NCHW, weights OIHW.
// "int32s" is an int32 array; if it has two elements, they are height and width.
//
//	Conv2D           input, weights, bias (optional);
//	                 kernel_size int32s, as in the shape of the weights;
//	                 stride int32s (1, 1), padding int32s, at both ends (0, 0),
//	                 dilation int32s (1, 1), groups (1)
//	DepthwiseConv2D  the same without groups: one filter per channel,
//	                 weights of shape channels, 1, height, width
//	FullyConnected   input, weights (a row for each output), bias (optional);
//	                 all dims of the input but the first are flattened
//	MaxPool2D        kernel_size int32s (2, 2), stride int32s (kernel_size), padding int32s (0, 0)
//	AvgPool2D        the same, and count_include_pad bool (false)
//	BatchNorm        input, scale, bias, mean, variance; epsilon float32 (1e-5)
//	Softmax          axis (-1)
//	Add, Subtract, Multiply, Divide   two inputs of the same shape
//	Concat           axis, or dim, from 0 (0)
//	Reshape          shape int32s, one of which may be -1
//	Flatten          axis (1): the dims before it become one dim, and the dims from it on another
//	Transpose        perm int32s (reversed)
//	MatMul           two matrices
//	Relu, Sigmoid, Tanh   without parameters
//
// # Quantization
//
// Quantization parameters of a constant are parameters of the operators that consume
// it, as input i (from 0): input{i}_scale (float32 or float32 array),
// input{i}_zero_point (int32 or int32 array; missing means 0, and one value applies
// to all scales), and, for scales per channel, input{i}_axis (int32). The real value
// is (q - zero point) * scale. Info().Quant of the constant has them, and they stay
// parameters of the operator. A file opens even if parameters contradict each
// other, the shape, or those of another consumer, or if a zero point or axis has no
// scale, but tensor.Decode to floats then fails with ErrQuantization.
//
// # Classes of the specification
//
//	MobileModelFormat(path, bytes, stream), ModelSerializer.Load   Open; format.OpenBytes, OpenReaderAt, OpenFile with From
//	Header, Metadata, Inputs, Outputs                              File.Header, Name, FrameworkVersion, Timestamp, Inputs, Outputs
//	ConstantTensors, ConstantTensor.ToTensor                       File.Constants, File.Constant, tensor.View.Clone
//	Operators                                                      File.Operators, File.Graph
//	ModelWriterConfig, MobileModelWriter, ModelSerializer.Save     Format; format.Create, NewWriter, Save
//	ModelSerializer.Validate                                       Open, File.Verify
//	CreateSpec, CreateTensor                                       schema.ValueInfo; tensor.FromBytes, FromInfo, Of
//
// # The reference writer
//
// The MobileModelWriter of ml-framework writes another layout with the same magic
// number: a header of 30 bytes, without the reserved field and with the metadata at
// 30, a total size without the footer, a count before the constants, and an
// Adler-32 over four bytes too few. No reader supports it. This package refuses such
// a file with ErrUnsupported and an error that identifies it.
//
// # Errors
//
// Every error about a file is a *tensor.Error with the field and its offset. A wrong
// magic number is ErrMagic; another version is ErrVersion; a checksum that does not
// match is ErrChecksum; an unknown data type or parameter type is ErrUnsupported; a
// record that does not fit its section, or a truncated file, is ErrTruncated. Every
// other contradiction is ErrCorrupt.
package mobi
