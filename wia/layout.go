package wia

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

const formatName = "wia"

// The header.
const (
	headerSize = 256
	magic      = "1AIW" // the number 0x57494131
	magicASCII = "WIA1" // read as well
	major      = 1
	minor      = 0
	alignment  = 64 // of raw_data in the file
)

// Compression is the compression of a block or a tensor. Its values are those of
// the header and of CompressionType in wia.proto.
type Compression uint8

// The compressions of section 6.1.
const (
	None Compression = 0
	Gzip Compression = 1
	Zstd Compression = 2
)

// String returns "none", "gzip" or "zstd".
func (c Compression) String() string {
	if names := [...]string{"none", "gzip", "zstd"}; int(c) < len(names) {
		return names[c]
	}
	return "compression(" + strconv.Itoa(int(c)) + ")"
}

func (c Compression) check() error {
	if c > Zstd {
		return fmt.Errorf("%w: %v", format.ErrUnsupported, c)
	}
	return nil
}

var codecs = [...]*codec.Stream{Gzip: gzip.Codec, Zstd: zstd.Codec}

// dtypes maps the codes of section 3.1 to dtypes; 0 is DATA_TYPE_UNSPECIFIED.
var dtypes = [...]tensor.DType{
	1: tensor.Float32, 2: tensor.Float16, 3: tensor.BFloat16, 4: tensor.Int64, 5: tensor.Int32,
	6: tensor.Int16, 7: tensor.Int8, 8: tensor.Uint8, 9: tensor.Bool, 10: tensor.Complex64,
}

// dtypeOf returns the dtype of a code, Invalid for an unknown code.
func dtypeOf(code int32) tensor.DType {
	if code <= 0 || int(code) >= len(dtypes) {
		return tensor.Invalid
	}
	return dtypes[code]
}

// codeOf returns the code of a dtype, 0 if the format does not have it.
func codeOf(d tensor.DType) int32 {
	return int32(slices.Index(dtypes[1:], d)) + 1
}

// block identifies the header or one of the four blocks, in the order of the file.
type block uint8

const (
	headerBlock block = iota
	metadataBlock
	graphBlock
	tensorBlock
	signatureBlock
	numBlocks
)

// numSums is the number of checksums: one of every block but that with the checksums.
const numSums = signatureBlock

// blockNames are also the values of block_type.
var blockNames = [numBlocks]string{"header", "metadata", "graph", "tensor", "signature"}

func (b block) String() string { return blockNames[b] }

// messages corresponds to wia.proto, and a test compares them. The reader checks messages and names
// fields in errors by it.
var messages = protobuf.Parse(`
	KeyValue: 1 key name, 2 value string;
	PerChannelQuantization: 1 scales float*, 2 zero_points int*, 3 channel_dim int;
	QuantizationParams: 1 type enum, 2 scale float, 3 zero_point int, 4 quantized_type enum, 5 per_channel PerChannelQuantization;
	TensorMetadata: 1 doc_string string native, 2 properties KeyValue* properties native, 3 quantization QuantizationParams;
	ExternalData: 1 location string, 2 offset int, 3 length int, 4 checksum string;
	Tensor: 1 name name, 2 dims int* dims, 3 dtype enum, 4 raw_data bytes oneof, 5 external_data ExternalData oneof,
		6 metadata TensorMetadata;
	CompressedTensor: 1 tensor Tensor, 2 compression enum, 3 compressed_data bytes, 4 uncompressed_size int;
	TensorData: 1 tensors Tensor*, 2 compressed_tensors CompressedTensor*, 15 padding bytes;

	TensorShapeProto.Dimension: 1 dim_value int oneof, 2 dim_param string oneof, 3 denotation string native;
	TensorShapeProto: 1 dim TensorShapeProto.Dimension* value_dims;
	TypeProto.Tensor: 1 elem_type enum, 2 shape TensorShapeProto;
	TypeProto: 1 tensor_type TypeProto.Tensor, 6 denotation string native;
	ValueInfo: 1 name name ref, 2 type TypeProto, 3 doc_string string native;
	Attribute: 1 name name, 2 f float, 3 i int, 4 s bytes, 5 t Tensor, 6 g Graph, 7 floats float* numbers, 8 ints int* numbers,
		9 strings bytes* strings, 10 tensors Tensor* attributes, 11 graphs Graph* attributes, 13 doc_string string native,
		20 type enum, 21 ref_attr_name string native;
	Node: 1 name name, 2 op_type string, 3 inputs name* edges ref, 4 outputs name* edges ref,
		5 attributes Attribute* attributes, 6 doc_string string native, 7 domain ours;
	GraphMetadata: 1 properties KeyValue* properties native;
	Graph: 1 name name, 2 nodes Node* nodes, 3 inputs ValueInfo* values, 4 outputs ValueInfo* values,
		5 initializers Tensor* tensors, 6 metadata GraphMetadata;

	BlockChecksum: 1 block_type string, 2 sha256 bytes;
	Signature: 1 algorithm string, 2 public_key bytes, 3 signature bytes, 4 timestamp int;
	SignatureBlock: 1 checksums BlockChecksum*, 2 signature Signature, 15 padding bytes;

	Native: 1 graph Graph, 2 tensors CompressedTensor*, 3 tensor_block Unknown, 4 signature_block Unknown, 5 metadata bytes;
`)

var (
	tensorMsg, tensorDataMsg, compressedMsg = messages["Tensor"], messages["TensorData"], messages["CompressedTensor"]
	graphMsg, signatureBlockMsg             = messages["Graph"], messages["SignatureBlock"]
	blockMessages                           = [...]*protobuf.Message{graphBlock: graphMsg, tensorBlock: tensorDataMsg}

	// nativeMsg is the message in Native.Raw: the graph and the records of tensors, without data,
	// the unknown fields of the tensor and signature blocks, and the text of the metadata.
	nativeMsg = messages["Native"]
)
