package onnx

import "github.com/weightmap/weightmap/internal/protobuf"

// The tables below are onnx.proto, as far as a model is looked at: the fields of each
// message with name, kind and what limit their elements count for.

func textField(name string) protobuf.FieldDef { return protobuf.Bare(name, protobuf.KindString) }

// bareMany is a field of several values that are not kept.
func bareMany(d protobuf.FieldDef) protobuf.FieldDef {
	d.Repeated = true
	return d
}

var (
	entryMsg = &protobuf.Message{Name: "StringStringEntryProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("key", protobuf.KindString),
		2: protobuf.One("value", protobuf.KindString),
	}}
	// The same, where keys or values name values of a graph.
	parameterMsg = &protobuf.Message{Name: entryMsg.Name, Fields: entryMsg.Fields}
	bindingMsg   = &protobuf.Message{Name: entryMsg.Name, Fields: entryMsg.Fields}

	segmentMsg = &protobuf.Message{Name: "TensorProto.Segment", Fields: []protobuf.FieldDef{
		1: protobuf.Bare("begin", protobuf.KindInt), 2: protobuf.Bare("end", protobuf.KindInt),
	}}
	tensorMsg = &protobuf.Message{Name: "TensorProto", Fields: []protobuf.FieldDef{
		1:          bareMany(protobuf.Bare("dims", protobuf.KindInt)).Each(protobuf.CountDims).Takes(16),
		2:          protobuf.Bare("data_type", protobuf.KindEnum),
		3:          protobuf.BareMessage("segment", segmentMsg, false),
		floatData:  bareMany(protobuf.Bare("float_data", protobuf.KindFloat)).Takes(4),
		int32Data:  bareMany(protobuf.Bare("int32_data", protobuf.KindInt)).Takes(4),
		stringData: bareMany(protobuf.Bare("string_data", protobuf.KindBytes)).Each(protobuf.CountStrings).Takes(4),
		int64Data:  bareMany(protobuf.Bare("int64_data", protobuf.KindInt)).Takes(8),
		8:          textField("name"),
		rawData:    protobuf.Bare("raw_data", protobuf.KindBytes),
		doubleData: bareMany(protobuf.Bare("double_data", protobuf.KindDouble)).Takes(8),
		uint64Data: bareMany(protobuf.Bare("uint64_data", protobuf.KindInt)).Takes(8),
		12:         textField("doc_string"),
		13:         protobuf.BareMessage("external_data", entryMsg, true).Each(protobuf.CountProperties),
		14:         protobuf.Bare("data_location", protobuf.KindEnum),
		16:         protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	sparseMsg = &protobuf.Message{Name: "SparseTensorProto", Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("values", tensorMsg, false), 2: protobuf.BareMessage("indices", tensorMsg, false),
		3: bareMany(protobuf.Bare("dims", protobuf.KindInt)).Each(protobuf.CountDims),
	}}
	dimensionMsg = &protobuf.Message{Name: "TensorShapeProto.Dimension", Arms: 1<<1 | 1<<2, Fields: []protobuf.FieldDef{
		1: protobuf.One("dim_value", protobuf.KindInt),
		2: protobuf.One("dim_param", protobuf.KindString),
		3: textField("denotation"),
	}}
	shapeMsg = &protobuf.Message{Name: "TensorShapeProto", Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("dim", dimensionMsg).Each(protobuf.CountValueDims).Takes(96),
	}}
	tensorTypeMsg = &protobuf.Message{Name: "TypeProto.Tensor", Fields: []protobuf.FieldDef{
		1: protobuf.One("elem_type", protobuf.KindEnum),
		2: protobuf.OneMessage("shape", shapeMsg),
	}}
	// Types of other values than tensors are not looked into.
	typeMsg = &protobuf.Message{Name: "TypeProto", Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("tensor_type", tensorTypeMsg),
		4: protobuf.Bare("sequence_type", protobuf.KindBytes), 5: protobuf.Bare("map_type", protobuf.KindBytes), 6: textField("denotation"),
		7: protobuf.Bare("opaque_type", protobuf.KindBytes), 8: protobuf.Bare("sparse_tensor_type", protobuf.KindBytes), 9: protobuf.Bare("optional_type", protobuf.KindBytes),
	}}
	valueInfoMsg = &protobuf.Message{Name: "ValueInfoProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindString),
		2: protobuf.OneMessage("type", typeMsg),
		3: textField("doc_string"),
		4: protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	attributeMsg = &protobuf.Message{Name: "AttributeProto", Fields: []protobuf.FieldDef{
		1:  protobuf.One("name", protobuf.KindString),
		2:  protobuf.One("f", protobuf.KindFloat),
		3:  protobuf.One("i", protobuf.KindInt),
		4:  protobuf.One("s", protobuf.KindBytes),
		5:  protobuf.OneMessage("t", tensorMsg).Takes(400),
		6:  protobuf.OneMessage("g", nil).Takes(160),
		7:  protobuf.Many("floats", protobuf.KindFloat).Each(protobuf.CountNumbers),
		8:  protobuf.Many("ints", protobuf.KindInt).Each(protobuf.CountNumbers),
		9:  protobuf.Many("strings", protobuf.KindBytes).Each(protobuf.CountStrings).Takes(40),
		10: protobuf.ManyMessages("tensors", tensorMsg).Each(protobuf.CountAttributes).Takes(400),
		11: protobuf.ManyMessages("graphs", nil).Each(protobuf.CountAttributes).Takes(160),
		13: textField("doc_string"),
		14: protobuf.BareMessage("tp", typeMsg, false),
		15: protobuf.BareMessage("type_protos", typeMsg, true),
		20: protobuf.One("type", protobuf.KindEnum),
		21: textField("ref_attr_name"),
		22: protobuf.BareMessage("sparse_tensor", sparseMsg, false),
		23: protobuf.BareMessage("sparse_tensors", sparseMsg, true),
	}}
	deviceMsg = &protobuf.Message{Name: "NodeDeviceConfigurationProto", Fields: []protobuf.FieldDef{
		1: textField("configuration_id"), 2: protobuf.BareMessage("sharding_spec", shardingMsg, true),
	}}
	shardingMsg = &protobuf.Message{Name: "ShardingSpecProto", Fields: []protobuf.FieldDef{1: textField("tensor_name")}}
	nodeMsg     = &protobuf.Message{Name: "NodeProto", Fields: []protobuf.FieldDef{
		1:  protobuf.Many("input", protobuf.KindString).Each(protobuf.CountEdges),
		2:  protobuf.Many("output", protobuf.KindString).Each(protobuf.CountEdges),
		3:  protobuf.One("name", protobuf.KindString),
		4:  protobuf.One("op_type", protobuf.KindString),
		5:  protobuf.ManyMessages("attribute", attributeMsg).Each(protobuf.CountAttributes).Takes(104),
		6:  textField("doc_string"),
		7:  protobuf.One("domain", protobuf.KindString),
		8:  textField("overload"),
		9:  protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
		10: protobuf.BareMessage("device_configurations", deviceMsg, true),
	}}
	annotationMsg = &protobuf.Message{Name: "TensorAnnotation", Fields: []protobuf.FieldDef{
		1: textField("tensor_name"), 2: protobuf.BareMessage("quant_parameter_tensor_names", parameterMsg, true),
	}}
	graphMsg = &protobuf.Message{Name: "GraphProto", Fields: []protobuf.FieldDef{
		1:  protobuf.ManyMessages("node", nodeMsg).Each(protobuf.CountNodes).Takes(120),
		2:  protobuf.One("name", protobuf.KindString),
		5:  protobuf.BareMessage("initializer", tensorMsg, true).Each(protobuf.CountTensors).Takes(16),
		10: textField("doc_string"),
		11: protobuf.ManyMessages("input", valueInfoMsg).Each(protobuf.CountValues),
		12: protobuf.ManyMessages("output", valueInfoMsg).Each(protobuf.CountValues),
		13: protobuf.BareMessage("value_info", valueInfoMsg, true).Each(protobuf.CountValues),
		14: protobuf.BareMessage("quantization_annotation", annotationMsg, true),
		15: protobuf.BareMessage("sparse_initializer", sparseMsg, true).Each(protobuf.CountTensors),
		16: protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	opsetMsg = &protobuf.Message{Name: "OperatorSetIdProto", Fields: []protobuf.FieldDef{
		1: protobuf.One("domain", protobuf.KindString),
		2: protobuf.One("version", protobuf.KindInt),
	}}
	functionMsg = &protobuf.Message{Name: "FunctionProto", Fields: []protobuf.FieldDef{
		1: textField("name"), 4: bareMany(textField("input")), 5: bareMany(textField("output")), 6: bareMany(textField("attribute")),
		7: protobuf.BareMessage("node", nodeMsg, true).Each(protobuf.CountNodes), 8: textField("doc_string"),
		9: protobuf.BareMessage("opset_import", opsetMsg, true), 10: textField("domain"),
		11: protobuf.BareMessage("attribute_proto", attributeMsg, true).Each(protobuf.CountAttributes),
		12: protobuf.BareMessage("value_info", valueInfoMsg, true).Each(protobuf.CountValues), 13: textField("overload"),
		14: protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	trainingMsg = &protobuf.Message{Name: "TrainingInfoProto", Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("initialization", graphMsg, false), 2: protobuf.BareMessage("algorithm", graphMsg, false),
		3: protobuf.BareMessage("initialization_binding", bindingMsg, true), 4: protobuf.BareMessage("update_binding", bindingMsg, true),
	}}
	modelMsg = &protobuf.Message{Name: "ModelProto", Fields: []protobuf.FieldDef{
		1:  protobuf.One("ir_version", protobuf.KindInt),
		2:  protobuf.One("producer_name", protobuf.KindString),
		3:  protobuf.One("producer_version", protobuf.KindString),
		4:  protobuf.One("domain", protobuf.KindString),
		5:  protobuf.One("model_version", protobuf.KindInt),
		6:  protobuf.One("doc_string", protobuf.KindString),
		7:  protobuf.BareMessage("graph", graphMsg, false),
		8:  protobuf.ManyMessages("opset_import", opsetMsg).Each(protobuf.CountProperties),
		14: protobuf.ManyMessages("metadata_props", entryMsg).Each(protobuf.CountProperties).Takes(48),
		20: protobuf.BareMessage("training_info", trainingMsg, true).Each(protobuf.CountProperties),
		25: protobuf.BareMessage("functions", functionMsg, true).Each(protobuf.CountProperties),
		26: bareMany(protobuf.Bare("configuration", protobuf.KindBytes)),
	}}
)

// A graph holds attributes and an attribute graphs: the knot is tied here.
func init() {
	attributeMsg.Fields[6].Message = graphMsg
	attributeMsg.Fields[11].Message = graphMsg
}
