package onnx

import (
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/onnxgraph"
)

// The messages of onnx.proto, as far as a model is examined: types of other values than tensors are
// only bytes. Parameter and Binding are StringStringEntryProtos that name values.
const (
	_ messages.Type = iota
	typeEntry
	typeParameter
	typeBinding
	typeSegment
	typeTensor
	typeSparse
	typeDimension
	typeShape
	typeTensorType
	typeType
	typeValue
	typeAttribute
	typeSharding
	typeDevice
	typeNode
	typeAnnotation
	typeGraph
	typeOperatorSet
	typeFunction
	typeTraining
	typeModel
)

// The fields of a ModelProto. Fields 2 to 6 without a constant are texts.
const (
	irVersion    = 1
	modelVersion = 5
	modelGraph   = 7
	operatorSets = 8  // opset_import
	properties   = 14 // metadata_props
)

// The fields of a GraphProto that hold tensors.
const (
	initializer       = 5
	sparseInitializer = 15
)

// The fields of a TensorProto.
const (
	tensorDims   = 1
	dataType     = 2
	segment      = 3
	floatData    = 4
	int32Data    = 5
	stringData   = 6
	int64Data    = 7
	tensorName   = 8
	rawData      = 9
	doubleData   = 10
	uint64Data   = 11
	externalData = 13
	dataLocation = 14
)

// The fields of a SparseTensorProto.
const (
	sparseValues  = 1
	sparseIndices = 2
	sparseDims    = 3
)

// The fields of an entry, and of an operator set.
const (
	entryKey   = 1
	entryValue = 2

	setDomain  = 1
	setVersion = 2
)

// isData reports whether a field of a TensorProto holds data.
func isData(number int) bool {
	return number >= floatData && number <= int64Data || number >= rawData && number <= uint64Data
}

// table describes the messages.
var table = messages.Schema{
	typeEntry: {Name: "Entry", Fields: []messages.Field{
		1: {Name: "key", Kind: messages.String},
		2: {Name: "value", Kind: messages.String},
	}},
	typeParameter: {Name: "Parameter", Fields: []messages.Field{
		1: {Name: "key", Kind: messages.String},
		2: {Name: "value", Kind: messages.String, Use: messages.Ref},
	}},
	typeBinding: {Name: "Binding", Fields: []messages.Field{
		1: {Name: "key", Kind: messages.String, Use: messages.Ref},
		2: {Name: "value", Kind: messages.String, Use: messages.Ref},
	}},
	typeSegment: {Name: "Segment", Fields: []messages.Field{
		1: {Name: "begin", Kind: messages.Int},
		2: {Name: "end", Kind: messages.Int},
	}},
	typeTensor: {Name: "Tensor", Fields: []messages.Field{
		1:  {Name: "dims", Kind: messages.Int, Many: true, Limit: messages.Dims},
		2:  {Name: "data_type", Kind: messages.Enum},
		3:  {Name: "segment", Kind: messages.Nested, Of: typeSegment, Use: messages.Native},
		4:  {Name: "float_data", Kind: messages.Float, Many: true},
		5:  {Name: "int32_data", Kind: messages.Int, Many: true},
		6:  {Name: "string_data", Kind: messages.Blob, Many: true, Limit: messages.Strings},
		7:  {Name: "int64_data", Kind: messages.Int, Many: true},
		8:  {Name: "name", Kind: messages.String},
		9:  {Name: "raw_data", Kind: messages.Blob},
		10: {Name: "double_data", Kind: messages.Double, Many: true},
		11: {Name: "uint64_data", Kind: messages.Int, Many: true},
		12: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		13: {Name: "external_data", Kind: messages.Nested, Many: true, Of: typeEntry,
			Limit: messages.Properties},
		14: {Name: "data_location", Kind: messages.Enum},
		16: {Name: "metadata_props", Kind: messages.Nested, Many: true, Of: typeEntry,
			Use: messages.Doc, Limit: messages.Properties},
	}},
	typeSparse: {Name: "SparseTensor", Fields: []messages.Field{
		1: {Name: "values", Kind: messages.Nested, Of: typeTensor},
		2: {Name: "indices", Kind: messages.Nested, Of: typeTensor},
		3: {Name: "dims", Kind: messages.Int, Many: true, Limit: messages.Dims},
	}},
	typeDimension: {Name: "Dimension", OneOf: 1<<1 | 1<<2, Fields: []messages.Field{
		1: {Name: "dim_value", Kind: messages.Int},
		2: {Name: "dim_param", Kind: messages.String},
		3: {Name: "denotation", Kind: messages.String, Use: messages.Native},
	}},
	typeShape: {Name: "TensorShape", Fields: []messages.Field{
		1: {Name: "dim", Kind: messages.Nested, Many: true, Of: typeDimension,
			Limit: messages.ValueDims},
	}},
	typeTensorType: {Name: "TensorType", Fields: []messages.Field{
		1: {Name: "elem_type", Kind: messages.Enum},
		2: {Name: "shape", Kind: messages.Nested, Of: typeShape},
	}},
	typeType: {Name: "Type", Fields: []messages.Field{
		1: {Name: "tensor_type", Kind: messages.Nested, Of: typeTensorType},
		4: {Name: "sequence_type", Kind: messages.Blob, Use: messages.Native},
		5: {Name: "map_type", Kind: messages.Blob, Use: messages.Native},
		6: {Name: "denotation", Kind: messages.String, Use: messages.Native},
		7: {Name: "opaque_type", Kind: messages.Blob, Use: messages.Native},
		8: {Name: "sparse_tensor_type", Kind: messages.Blob, Use: messages.Native},
		9: {Name: "optional_type", Kind: messages.Blob, Use: messages.Native},
	}},
	typeValue: {Name: "ValueInfo", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.String, Use: messages.Ref},
		2: {Name: "type", Kind: messages.Nested, Of: typeType},
		3: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		4: {Name: "metadata_props", Kind: messages.Nested, Many: true, Of: typeEntry,
			Use: messages.Doc, Limit: messages.Properties},
	}},
	typeAttribute: {Name: "Attribute", Fields: []messages.Field{
		1: {Name: "name", Kind: messages.String},
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
		14: {Name: "tp", Kind: messages.Nested, Of: typeType, Use: messages.Native},
		15: {Name: "type_protos", Kind: messages.Nested, Many: true, Of: typeType,
			Use: messages.Native},
		20: {Name: "type", Kind: messages.Enum},
		21: {Name: "ref_attr_name", Kind: messages.String, Use: messages.Native},
		22: {Name: "sparse_tensor", Kind: messages.Nested, Of: typeSparse, Use: messages.Native},
		23: {Name: "sparse_tensors", Kind: messages.Nested, Many: true, Of: typeSparse,
			Use: messages.Native},
	}},
	typeSharding: {Name: "Sharding", Fields: []messages.Field{
		1: {Name: "tensor_name", Kind: messages.String, Use: messages.Ref},
	}},
	typeDevice: {Name: "Device", Fields: []messages.Field{
		1: {Name: "configuration_id", Kind: messages.String},
		2: {Name: "sharding_spec", Kind: messages.Nested, Many: true, Of: typeSharding},
	}},
	typeNode: {Name: "Node", Fields: []messages.Field{
		1: {Name: "input", Kind: messages.String, Many: true, Use: messages.Ref,
			Limit: messages.Edges},
		2: {Name: "output", Kind: messages.String, Many: true, Use: messages.Ref,
			Limit: messages.Edges},
		3: {Name: "name", Kind: messages.String},
		4: {Name: "op_type", Kind: messages.String},
		5: {Name: "attribute", Kind: messages.Nested, Many: true, Of: typeAttribute,
			Limit: messages.Attributes},
		6: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		7: {Name: "domain", Kind: messages.String},
		8: {Name: "overload", Kind: messages.String, Use: messages.Native},
		9: {Name: "metadata_props", Kind: messages.Nested, Many: true, Of: typeEntry,
			Use: messages.Doc, Limit: messages.Properties},
		10: {Name: "device_configurations", Kind: messages.Nested, Many: true, Of: typeDevice,
			Use: messages.Native},
	}},
	typeAnnotation: {Name: "Annotation", Fields: []messages.Field{
		1: {Name: "tensor_name", Kind: messages.String, Use: messages.Ref},
		2: {Name: "quant_parameter_tensor_names", Kind: messages.Nested, Many: true,
			Of: typeParameter},
	}},
	typeGraph: {Name: "Graph", Fields: []messages.Field{
		1: {Name: "node", Kind: messages.Nested, Many: true, Of: typeNode, Limit: messages.Nodes},
		2: {Name: "name", Kind: messages.String},
		5: {Name: "initializer", Kind: messages.Nested, Many: true, Of: typeTensor,
			Use: messages.Declares, Limit: messages.Tensors},
		10: {Name: "doc_string", Kind: messages.String, Use: messages.Doc},
		11: {Name: "input", Kind: messages.Nested, Many: true, Of: typeValue,
			Limit: messages.Values},
		12: {Name: "output", Kind: messages.Nested, Many: true, Of: typeValue,
			Limit: messages.Values},
		13: {Name: "value_info", Kind: messages.Nested, Many: true, Of: typeValue,
			Use: messages.Native | messages.Annotation | messages.Typed, Limit: messages.Values},
		14: {Name: "quantization_annotation", Kind: messages.Nested, Many: true,
			Of: typeAnnotation, Use: messages.Native | messages.Annotation},
		15: {Name: "sparse_initializer", Kind: messages.Nested, Many: true, Of: typeSparse,
			Use: messages.Native, Limit: messages.Tensors},
		16: {Name: "metadata_props", Kind: messages.Nested, Many: true, Of: typeEntry,
			Use: messages.Doc, Limit: messages.Properties},
	}},
	typeOperatorSet: {Name: "OperatorSet", Fields: []messages.Field{
		1: {Name: "domain", Kind: messages.String},
		2: {Name: "version", Kind: messages.Int},
	}},
	typeFunction: {Name: "Function", Fields: []messages.Field{
		1:  {Name: "name", Kind: messages.String},
		4:  {Name: "input", Kind: messages.String, Many: true},
		5:  {Name: "output", Kind: messages.String, Many: true},
		6:  {Name: "attribute", Kind: messages.String, Many: true},
		7:  {Name: "node", Kind: messages.Nested, Many: true, Of: typeNode, Limit: messages.Nodes},
		8:  {Name: "doc_string", Kind: messages.String},
		9:  {Name: "opset_import", Kind: messages.Nested, Many: true, Of: typeOperatorSet},
		10: {Name: "domain", Kind: messages.String},
		11: {Name: "attribute_proto", Kind: messages.Nested, Many: true, Of: typeAttribute,
			Limit: messages.Attributes},
		12: {Name: "value_info", Kind: messages.Nested, Many: true, Of: typeValue,
			Limit: messages.Values},
		13: {Name: "overload", Kind: messages.String},
		14: {Name: "metadata_props", Kind: messages.Nested, Many: true, Of: typeEntry,
			Limit: messages.Properties},
	}},
	typeTraining: {Name: "TrainingInfo", Fields: []messages.Field{
		1: {Name: "initialization", Kind: messages.Nested, Of: typeGraph},
		2: {Name: "algorithm", Kind: messages.Nested, Of: typeGraph},
		3: {Name: "initialization_binding", Kind: messages.Nested, Many: true, Of: typeBinding},
		4: {Name: "update_binding", Kind: messages.Nested, Many: true, Of: typeBinding},
	}},
	typeModel: {Name: "Model", Fields: []messages.Field{
		1: {Name: "ir_version", Kind: messages.Int},
		2: {Name: "producer_name", Kind: messages.String},
		3: {Name: "producer_version", Kind: messages.String},
		4: {Name: "domain", Kind: messages.String},
		5: {Name: "model_version", Kind: messages.Int},
		6: {Name: "doc_string", Kind: messages.String},
		7: {Name: "graph", Kind: messages.Nested, Of: typeGraph},
		8: {Name: "opset_import", Kind: messages.Nested, Many: true, Of: typeOperatorSet,
			Limit: messages.Properties},
		14: {Name: "metadata_props", Kind: messages.Nested, Many: true, Of: typeEntry,
			Limit: messages.Properties},
		20: {Name: "training_info", Kind: messages.Nested, Many: true, Of: typeTraining,
			Use: messages.Native | messages.Annotation, Limit: messages.Properties},
		25: {Name: "functions", Kind: messages.Nested, Many: true, Of: typeFunction,
			Use: messages.Native | messages.Scope, Limit: messages.Properties},
		26: {Name: "configuration", Kind: messages.Blob, Many: true, Use: messages.Native},
	}},
}

// dialect describes the parts of a graph that are specific to ONNX.
var dialect = onnxgraph.Dialect{
	Schema: table, Graph: typeGraph, Tensor: typeTensor, Sparse: typeSparse,
	GraphFields: onnxgraph.GraphFields{
		Nodes: 1, Name: 2, Initializers: initializer, Inputs: 11, Outputs: 12,
	},
	NodeFields: onnxgraph.NodeFields{Inputs: 1, Outputs: 2, Name: 3, Op: 4},
	TensorName: tensorName,

	DType: dtypeOf, Code: codeOf, Explicit: true, CheckTensor: checkTensor, AppendTensor: appendTensor,
}
