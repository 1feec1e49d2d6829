package onnx

import "github.com/weightmap/weightmap/internal/protobuf"

// The tables below are onnx.proto, as far as a model is looked at: the fields of each
// message with name, kind and what limit their elements count for.

var (
	entryMsg = &protobuf.Message{Name: "StringStringEntryProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("key", protobuf.KindString),
		2: protobuf.One("value", protobuf.KindString),
	}}
	// The same, where keys or values name values of a graph.
	parameterMsg = &protobuf.Message{Name: entryMsg.Name, Fields: entryMsg.Fields}
	bindingMsg   = &protobuf.Message{Name: entryMsg.Name, Fields: entryMsg.Fields}

	segmentMsg = &protobuf.Message{Name: "TensorProto.Segment", Fields: []protobuf.FieldDef{
		1: protobuf.One("begin", protobuf.KindInt), 2: protobuf.One("end", protobuf.KindInt),
	}}
	tensorMsg = &protobuf.Message{Name: "TensorProto", Fields: []protobuf.FieldDef{
		1:          protobuf.Many("dims", protobuf.KindInt).Each(protobuf.CountDims),
		2:          protobuf.One("data_type", protobuf.KindEnum),
		3:          protobuf.OneMessage("segment", segmentMsg),
		floatData:  protobuf.Many("float_data", protobuf.KindFloat),
		int32Data:  protobuf.Many("int32_data", protobuf.KindInt),
		stringData: protobuf.Many("string_data", protobuf.KindBytes).Each(protobuf.CountStrings),
		int64Data:  protobuf.Many("int64_data", protobuf.KindInt),
		8:          protobuf.One("name", protobuf.KindString),
		rawData:    protobuf.One("raw_data", protobuf.KindBytes),
		doubleData: protobuf.Many("double_data", protobuf.KindDouble),
		uint64Data: protobuf.Many("uint64_data", protobuf.KindInt),
		12:         protobuf.One("doc_string", protobuf.KindString),
		13:         protobuf.ManyMessages("external_data", entryMsg).Each(protobuf.CountProperties),
		14:         protobuf.One("data_location", protobuf.KindEnum),
		16:         protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties),
	}}
	sparseMsg = &protobuf.Message{Name: "SparseTensorProto", Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("values", tensorMsg), 2: protobuf.OneMessage("indices", tensorMsg),
		3: protobuf.Many("dims", protobuf.KindInt).Each(protobuf.CountDims),
	}}
	dimensionMsg = &protobuf.Message{Name: "TensorShapeProto.Dimension", Arms: 1<<1 | 1<<2, Fields: []protobuf.FieldDef{
		1: protobuf.One("dim_value", protobuf.KindInt),
		2: protobuf.One("dim_param", protobuf.KindString),
		3: protobuf.One("denotation", protobuf.KindString),
	}}
	shapeMsg = &protobuf.Message{Name: "TensorShapeProto", Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("dim", dimensionMsg).Each(protobuf.CountValueDims),
	}}
	tensorTypeMsg = &protobuf.Message{Name: "TypeProto.Tensor", Fields: []protobuf.FieldDef{
		1: protobuf.One("elem_type", protobuf.KindEnum),
		2: protobuf.OneMessage("shape", shapeMsg),
	}}
	// Types of other values than tensors are not looked into.
	typeMsg = &protobuf.Message{Name: "TypeProto", Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("tensor_type", tensorTypeMsg),
		4: protobuf.One("sequence_type", protobuf.KindBytes), 5: protobuf.One("map_type", protobuf.KindBytes), 6: protobuf.One("denotation", protobuf.KindString),
		7: protobuf.One("opaque_type", protobuf.KindBytes), 8: protobuf.One("sparse_tensor_type", protobuf.KindBytes), 9: protobuf.One("optional_type", protobuf.KindBytes),
	}}
	valueInfoMsg = &protobuf.Message{Name: "ValueInfoProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindString),
		2: protobuf.OneMessage("type", typeMsg),
		3: protobuf.One("doc_string", protobuf.KindString),
		4: protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties),
	}}
	attributeMsg = &protobuf.Message{Name: "AttributeProto", Fields: []protobuf.FieldDef{
		1:  protobuf.One("name", protobuf.KindString),
		2:  protobuf.One("f", protobuf.KindFloat),
		3:  protobuf.One("i", protobuf.KindInt),
		4:  protobuf.One("s", protobuf.KindBytes),
		5:  protobuf.OneMessage("t", tensorMsg),
		6:  protobuf.OneMessage("g", nil),
		7:  protobuf.Many("floats", protobuf.KindFloat).Each(protobuf.CountNumbers),
		8:  protobuf.Many("ints", protobuf.KindInt).Each(protobuf.CountNumbers),
		9:  protobuf.Many("strings", protobuf.KindBytes).Each(protobuf.CountStrings),
		10: protobuf.ManyMessages("tensors", tensorMsg).Each(protobuf.CountAttributes),
		11: protobuf.ManyMessages("graphs", nil).Each(protobuf.CountAttributes),
		13: protobuf.One("doc_string", protobuf.KindString),
		14: protobuf.OneMessage("tp", typeMsg),
		15: protobuf.ManyMessages("type_protos", typeMsg),
		20: protobuf.One("type", protobuf.KindEnum),
		21: protobuf.One("ref_attr_name", protobuf.KindString),
		22: protobuf.OneMessage("sparse_tensor", sparseMsg),
		23: protobuf.ManyMessages("sparse_tensors", sparseMsg),
	}}
	deviceMsg = &protobuf.Message{Name: "NodeDeviceConfigurationProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("configuration_id", protobuf.KindString), 2: protobuf.ManyMessages("sharding_spec", shardingMsg),
	}}
	shardingMsg = &protobuf.Message{Name: "ShardingSpecProto", Fields: []protobuf.FieldDef{1: protobuf.One("tensor_name", protobuf.KindString)}}
	nodeMsg     = &protobuf.Message{Name: "NodeProto", Fields: []protobuf.FieldDef{
		1:  protobuf.Many("input", protobuf.KindString).Each(protobuf.CountEdges),
		2:  protobuf.Many("output", protobuf.KindString).Each(protobuf.CountEdges),
		3:  protobuf.One("name", protobuf.KindString),
		4:  protobuf.One("op_type", protobuf.KindString),
		5:  protobuf.ManyMessages("attribute", attributeMsg).Each(protobuf.CountAttributes),
		6:  protobuf.One("doc_string", protobuf.KindString),
		7:  protobuf.One("domain", protobuf.KindString),
		8:  protobuf.One("overload", protobuf.KindString),
		9:  protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties),
		10: protobuf.ManyMessages("device_configurations", deviceMsg),
	}}
	annotationMsg = &protobuf.Message{Name: "TensorAnnotation", Fields: []protobuf.FieldDef{
		1: protobuf.One("tensor_name", protobuf.KindString), 2: protobuf.ManyMessages("quant_parameter_tensor_names", parameterMsg),
	}}
	graphMsg = &protobuf.Message{Name: "GraphProto", Fields: []protobuf.FieldDef{
		1:  protobuf.ManyMessages("node", nodeMsg).Each(protobuf.CountNodes),
		2:  protobuf.One("name", protobuf.KindString),
		5:  protobuf.ManyMessages("initializer", tensorMsg).Each(protobuf.CountTensors),
		10: protobuf.One("doc_string", protobuf.KindString),
		11: protobuf.ManyMessages("input", valueInfoMsg).Each(protobuf.CountValues),
		12: protobuf.ManyMessages("output", valueInfoMsg).Each(protobuf.CountValues),
		13: protobuf.ManyMessages("value_info", valueInfoMsg).Each(protobuf.CountValues),
		14: protobuf.ManyMessages("quantization_annotation", annotationMsg),
		15: protobuf.ManyMessages("sparse_initializer", sparseMsg).Each(protobuf.CountTensors),
		16: protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties),
	}}
	opsetMsg = &protobuf.Message{Name: "OperatorSetIdProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("domain", protobuf.KindString),
		2: protobuf.One("version", protobuf.KindInt),
	}}
	functionMsg = &protobuf.Message{Name: "FunctionProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindString), 4: protobuf.Many("input", protobuf.KindString), 5: protobuf.Many("output", protobuf.KindString), 6: protobuf.Many("attribute", protobuf.KindString),
		7: protobuf.ManyMessages("node", nodeMsg).Each(protobuf.CountNodes), 8: protobuf.One("doc_string", protobuf.KindString),
		9: protobuf.ManyMessages("opset_import", opsetMsg), 10: protobuf.One("domain", protobuf.KindString),
		11: protobuf.ManyMessages("attribute_proto", attributeMsg).Each(protobuf.CountAttributes),
		12: protobuf.ManyMessages("value_info", valueInfoMsg).Each(protobuf.CountValues), 13: protobuf.One("overload", protobuf.KindString),
		14: protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties),
	}}
	trainingMsg = &protobuf.Message{Name: "TrainingInfoProto", Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("initialization", graphMsg), 2: protobuf.OneMessage("algorithm", graphMsg),
		3: protobuf.ManyMessages("initialization_binding", bindingMsg), 4: protobuf.ManyMessages("update_binding", bindingMsg),
	}}
	modelMsg = &protobuf.Message{Name: "ModelProto", Fields: []protobuf.FieldDef{
		1:  protobuf.One("ir_version", protobuf.KindInt),
		2:  protobuf.One("producer_name", protobuf.KindString),
		3:  protobuf.One("producer_version", protobuf.KindString),
		4:  protobuf.One("domain", protobuf.KindString),
		5:  protobuf.One("model_version", protobuf.KindInt),
		6:  protobuf.One("doc_string", protobuf.KindString),
		7:  protobuf.OneMessage("graph", graphMsg),
		8:  protobuf.ManyMessages("opset_import", opsetMsg).Each(protobuf.CountProperties),
		14: protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties),
		20: protobuf.ManyMessages("training_info", trainingMsg).Each(protobuf.CountProperties),
		25: protobuf.ManyMessages("functions", functionMsg).Each(protobuf.CountProperties),
		26: protobuf.Many("configuration", protobuf.KindBytes),
	}}
)

// A graph holds attributes and an attribute graphs: the knot is tied here.
func init() {
	attributeMsg.Fields[6].Message = graphMsg
	attributeMsg.Fields[11].Message = graphMsg
}
