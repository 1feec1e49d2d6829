package wia

import (
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
)

// The messages of wia.proto; a test compares them. typeNative is the message in Native.Raw: the
// graph and the records of tensors, without data, the unknown fields of the tensor and signature
// blocks, and the text of the metadata.
const (
	_ messages.Type = iota
	typeKeyValue
	typePerChannel
	typeQuantization
	typeTensorMetadata
	typeExternal
	typeTensor
	typeCompressed
	typeTensorData
	typeDimension
	typeShape
	typeTensorType
	typeType
	typeValue
	typeAttribute
	typeNode
	typeGraphMetadata
	typeGraph
	typeChecksum
	typeSignature
	typeSignatureBlock
	typeNative
	typeUnknown
)

// The fields of a QuantizationParams, and of a PerChannelQuantization.
const (
	quantType       = 1
	quantScale      = 2
	quantZeroPoint  = 3
	quantizedType   = 4 // the dtype again: written, and ignored when read
	quantPerChannel = 5

	channelScales     = 1
	channelZeroPoints = 2
	channelDim        = 3
)

// metadataQuantization is the field of a TensorMetadata that a schema holds.
const metadataQuantization = 3

// The fields of an ExternalData.
const (
	externalLocation = 1
	externalOffset   = 2
	externalLength   = 3
	externalChecksum = 4
)

// The fields of a Tensor.
const (
	tensorName     = 1
	tensorDims     = 2
	tensorDType    = 3
	rawData        = 4
	externalData   = 5
	tensorMetadata = 6
)

// The fields of a CompressedTensor.
const (
	innerTensor      = 1
	compressionCode  = 2
	compressedData   = 3
	uncompressedSize = 4
)

// The fields of a TensorData. Padding has the same number in a SignatureBlock.
const (
	tensorRecords     = 1
	compressedRecords = 2
	padding           = 15
)

// The fields of a Graph.
const (
	graphName         = 1
	graphNodes        = 2
	graphInputs       = 3
	graphOutputs      = 4
	graphInitializers = 5
)

// The fields of a SignatureBlock, a BlockChecksum and a Signature.
const (
	blockChecksums = 1
	blockSignature = 2

	checksumBlock = 1
	checksumSHA   = 2

	signatureAlgorithm = 1
	signatureKey       = 2
	signatureValue     = 3
	signatureTime      = 4
)

// The fields of typeNative.
const (
	nativeGraph     = 1
	nativeTensors   = 2
	nativeTail      = 3
	nativeSignature = 4
	nativeMetadata  = 5
)

// table describes the messages.
var table = messages.Schema{
	typeKeyValue: {Name: "KeyValue", Fields: []messages.Field{
		1: {Name: "key", Kind: messages.Name},
		2: {Name: "value", Kind: messages.String},
	}},
	typePerChannel: {Name: "PerChannelQuantization", Fields: []messages.Field{
		1: {Name: "scales", Kind: messages.Float, Many: true},
		2: {Name: "zero_points", Kind: messages.Int, Many: true},
		3: {Name: "channel_dim", Kind: messages.Int},
	}},
	typeQuantization: {Name: "QuantizationParams", Fields: []messages.Field{
		1: {Name: "type", Kind: messages.Enum},
		2: {Name: "scale", Kind: messages.Float},
		3: {Name: "zero_point", Kind: messages.Int},
		4: {Name: "quantized_type", Kind: messages.Enum},
		5: {Name: "per_channel", Kind: messages.Nested, Of: typePerChannel},
	}},
	typeTensorMetadata: {Name: "TensorMetadata", Fields: []messages.Field{
		1: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		2: {Name: "properties", Kind: messages.Nested, Many: true, Of: typeKeyValue,
			Use: messages.Doc, Limit: messages.Properties},
		3: {Name: "quantization", Kind: messages.Nested, Of: typeQuantization},
	}},
	typeExternal: {Name: "ExternalData", Fields: []messages.Field{
		1: {Name: "location", Kind: messages.String},
		2: {Name: "offset", Kind: messages.Int},
		3: {Name: "length", Kind: messages.Int},
		4: {Name: "checksum", Kind: messages.String},
	}},
	typeTensor: {Name: "Tensor", OneOf: 1<<rawData | 1<<externalData, Fields: []messages.Field{
		1: {Name: "name", Kind: messages.Name},
		2: {Name: "dims", Kind: messages.Int, Many: true, Limit: messages.Dims},
		3: {Name: "dtype", Kind: messages.Enum},
		4: {Name: "raw_data", Kind: messages.Blob},
		5: {Name: "external_data", Kind: messages.Nested, Of: typeExternal},
		6: {Name: "metadata", Kind: messages.Nested, Of: typeTensorMetadata, Use: messages.Doc},
	}},
	typeCompressed: {Name: "CompressedTensor", Fields: []messages.Field{
		1: {Name: "tensor", Kind: messages.Nested, Of: typeTensor},
		2: {Name: "compression", Kind: messages.Enum},
		3: {Name: "compressed_data", Kind: messages.Blob},
		4: {Name: "uncompressed_size", Kind: messages.Int},
	}},
	typeTensorData: {Name: "TensorData", Fields: []messages.Field{
		1:  {Name: "tensors", Kind: messages.Nested, Many: true, Of: typeTensor},
		2:  {Name: "compressed_tensors", Kind: messages.Nested, Many: true, Of: typeCompressed},
		15: {Name: "padding", Kind: messages.Blob},
	}},
	typeDimension: {Name: "TensorShapeProto.Dimension", OneOf: 1<<1 | 1<<2, Fields: []messages.Field{
		1: {Name: "dim_value", Kind: messages.Int},
		2: {Name: "dim_param", Kind: messages.String},
		3: {Name: "denotation", Kind: messages.String, Use: messages.Native},
	}},
	typeShape: {Name: "TensorShapeProto", Fields: []messages.Field{
		1: {Name: "dim", Kind: messages.Nested, Many: true, Of: typeDimension, Limit: messages.ValueDims},
	}},
	typeTensorType: {Name: "TypeProto.Tensor", Fields: []messages.Field{
		1: {Name: "elem_type", Kind: messages.Enum},
		2: {Name: "shape", Kind: messages.Nested, Of: typeShape},
	}},
	typeType: {Name: "TypeProto", Fields: []messages.Field{
		1: {Name: "tensor_type", Kind: messages.Nested, Of: typeTensorType},
		6: {Name: "denotation", Kind: messages.String, Use: messages.Native},
	}},
	typeValue: {Name: "ValueInfo", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.Name, Use: messages.Ref},
		2: {Name: "type", Kind: messages.Nested, Of: typeType},
		3: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
	}},
	typeAttribute: {Name: "Attribute", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.Name},
		2: {Name: "f", Kind: messages.Float},
		3: {Name: "i", Kind: messages.Int},
		4: {Name: "s", Kind: messages.Blob},
		5: {Name: "t", Kind: messages.Nested, Of: typeTensor},
		6: {Name: "g", Kind: messages.Nested, Of: typeGraph},
		7: {Name: "floats", Kind: messages.Float, Many: true, Limit: messages.Numbers},
		8: {Name: "ints", Kind: messages.Int, Many: true, Limit: messages.Numbers},
		9: {Name: "strings", Kind: messages.Blob, Many: true, Limit: messages.Strings},
		10: {Name: "tensors", Kind: messages.Nested, Many: true, Of: typeTensor,
			Limit: messages.Attributes},
		11: {Name: "graphs", Kind: messages.Nested, Many: true, Of: typeGraph,
			Limit: messages.Attributes},
		13: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		20: {Name: "type", Kind: messages.Enum},
		21: {Name: "ref_attr_name", Kind: messages.String, Use: messages.Native},
	}},
	typeNode: {Name: "Node", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.Name},
		2: {Name: "op_type", Kind: messages.String},
		3: {Name: "inputs", Kind: messages.Name, Many: true, Use: messages.Ref, Limit: messages.Edges},
		4: {Name: "outputs", Kind: messages.Name, Many: true, Use: messages.Ref, Limit: messages.Edges},
		5: {Name: "attributes", Kind: messages.Nested, Many: true, Of: typeAttribute,
			Limit: messages.Attributes},
		6: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		7: {Name: "domain", Kind: messages.Ours},
	}},
	typeGraphMetadata: {Name: "GraphMetadata", Fields: []messages.Field{
		1: {Name: "properties", Kind: messages.Nested, Many: true, Of: typeKeyValue,
			Use: messages.Doc, Limit: messages.Properties},
	}},
	typeGraph: {Name: "Graph", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.Name},
		2: {Name: "nodes", Kind: messages.Nested, Many: true, Of: typeNode, Limit: messages.Nodes},
		3: {Name: "inputs", Kind: messages.Nested, Many: true, Of: typeValue, Limit: messages.Values},
		4: {Name: "outputs", Kind: messages.Nested, Many: true, Of: typeValue, Limit: messages.Values},
		5: {Name: "initializers", Kind: messages.Nested, Many: true, Of: typeTensor,
			Use: messages.Declares, Limit: messages.Tensors},
		6: {Name: "metadata", Kind: messages.Nested, Of: typeGraphMetadata, Use: messages.Doc},
	}},
	typeChecksum: {Name: "BlockChecksum", Fields: []messages.Field{
		1: {Name: "block_type", Kind: messages.String},
		2: {Name: "sha256", Kind: messages.Blob},
	}},
	typeSignature: {Name: "Signature", Fields: []messages.Field{
		1: {Name: "algorithm", Kind: messages.String},
		2: {Name: "public_key", Kind: messages.Blob},
		3: {Name: "signature", Kind: messages.Blob},
		4: {Name: "timestamp", Kind: messages.Int},
	}},
	typeSignatureBlock: {Name: "SignatureBlock", Fields: []messages.Field{
		1:  {Name: "checksums", Kind: messages.Nested, Many: true, Of: typeChecksum},
		2:  {Name: "signature", Kind: messages.Nested, Of: typeSignature},
		15: {Name: "padding", Kind: messages.Blob},
	}},
	typeNative: {Name: "Native", Fields: []messages.Field{
		1: {Name: "graph", Kind: messages.Nested, Of: typeGraph},
		2: {Name: "tensors", Kind: messages.Nested, Many: true, Of: typeCompressed},
		3: {Name: "tensor_block", Kind: messages.Nested, Of: typeUnknown},
		4: {Name: "signature_block", Kind: messages.Nested, Of: typeUnknown},
		5: {Name: "metadata", Kind: messages.Blob},
	}},
	typeUnknown: {Name: "Unknown"},
}

// dialect describes the graph messages of this format to package onnxgraph.
var dialect = onnxgraph.Dialect{
	Schema: table, Graph: typeGraph, Tensor: typeTensor,
	GraphFields: onnxgraph.GraphFields{
		Name: graphName, Nodes: graphNodes, Inputs: graphInputs, Outputs: graphOutputs,
		Initializers: graphInitializers,
	},
	NodeFields: onnxgraph.NodeFields{Name: 1, Op: 2, Inputs: 3, Outputs: 4},
	TensorName: tensorName,

	Merges: true, UniqueOutputs: true, Declares: true,
	DType: dtypeOf, Code: codeOf, CheckTensor: checkTensor, AppendTensor: appendTensor,
}
