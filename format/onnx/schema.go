package onnx

import "github.com/weightmap/weightmap/internal/protobuf"

// The tables below are onnx.proto, as far as a model is looked at: the fields of each
// message with name, kind and what limit their elements count for, and the place of
// those that are kept in a Go struct.

// graph is GraphProto without what only tools for people look at.
type graph struct {
	nodes           []node
	name            string
	inputs, outputs []valueInfo
}

type node struct {
	inputs, outputs  []string
	name, op, domain string
	attributes       []attribute
}

// attribute is AttributeProto. typ says which field counts.
type attribute struct {
	name    string
	typ     int32
	f       *float32
	i       *int64
	s       *string // any bytes
	t       protobuf.Raw
	g       *graph
	floats  []float32
	ints    []int64
	strings [][]byte
	tensors []protobuf.Raw
	graphs  []graph
}

type valueInfo struct {
	name string
	typ  *typeProto
}

type typeProto struct{ tensor *tensorType }

type tensorType struct {
	elem  int32
	shape *shape
}

type shape struct{ dims []dimension }

type dimension struct {
	value *int64
	param *string
}

// head of the model: all but the graph.
type model struct {
	irVersion, modelVersion   *int64
	producer, producerVersion *string
	domain, doc               *string
	opsets                    []opset
	props                     []stringEntry
}

type opset struct {
	domain  string
	version int64
}

type stringEntry struct{ key, value string }

// discard is where fields go that a table does not have.
func discard(any) *[]byte { return new([]byte) }

func textField(name string) protobuf.FieldDef { return protobuf.Bare(name, protobuf.KindString) }

// bareMany is a field of several values that are not kept.
func bareMany(d protobuf.FieldDef) protobuf.FieldDef {
	d.Repeated = true
	return d
}

var (
	entryMsg = &protobuf.Message{Name: "StringStringEntryProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.One("key", protobuf.KindString, func(m *stringEntry) *string { return &m.key }),
		2: protobuf.One("value", protobuf.KindString, func(m *stringEntry) *string { return &m.value }),
	}}
	// The same, where keys or values name values of a graph.
	parameterMsg = &protobuf.Message{Name: entryMsg.Name, Unknown: discard, Fields: entryMsg.Fields}
	bindingMsg   = &protobuf.Message{Name: entryMsg.Name, Unknown: discard, Fields: entryMsg.Fields}

	segmentMsg = &protobuf.Message{Name: "TensorProto.Segment", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.Bare("begin", protobuf.KindInt), 2: protobuf.Bare("end", protobuf.KindInt),
	}}
	tensorMsg = &protobuf.Message{Name: "TensorProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1:          bareMany(protobuf.Bare("dims", protobuf.KindInt)).Each(protobuf.CountDims).Takes(16, 0),
		2:          protobuf.Bare("data_type", protobuf.KindEnum),
		3:          protobuf.BareMessage("segment", segmentMsg, false),
		floatData:  bareMany(protobuf.Bare("float_data", protobuf.KindFloat)).Takes(4, 0),
		int32Data:  bareMany(protobuf.Bare("int32_data", protobuf.KindInt)).Takes(4, 0),
		stringData: bareMany(protobuf.Bare("string_data", protobuf.KindBytes)).Each(protobuf.CountStrings).Takes(4, 0),
		int64Data:  bareMany(protobuf.Bare("int64_data", protobuf.KindInt)).Takes(8, 0),
		8:          textField("name"),
		rawData:    protobuf.Bare("raw_data", protobuf.KindBytes),
		doubleData: bareMany(protobuf.Bare("double_data", protobuf.KindDouble)).Takes(8, 0),
		uint64Data: bareMany(protobuf.Bare("uint64_data", protobuf.KindInt)).Takes(8, 0),
		12:         textField("doc_string"),
		13:         protobuf.BareMessage("external_data", entryMsg, true).Each(protobuf.CountProperties),
		14:         protobuf.Bare("data_location", protobuf.KindEnum),
		16:         protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	sparseMsg = &protobuf.Message{Name: "SparseTensorProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("values", tensorMsg, false), 2: protobuf.BareMessage("indices", tensorMsg, false),
		3: bareMany(protobuf.Bare("dims", protobuf.KindInt)).Each(protobuf.CountDims),
	}}
	dimensionMsg = &protobuf.Message{Name: "TensorShapeProto.Dimension", Arms: 1<<1 | 1<<2, Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.One("dim_value", protobuf.KindInt, func(m *dimension) **int64 { return &m.value }),
		2: protobuf.One("dim_param", protobuf.KindString, func(m *dimension) **string { return &m.param }),
		3: textField("denotation"),
	}}
	shapeMsg = &protobuf.Message{Name: "TensorShapeProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("dim", dimensionMsg, func(m *shape) *[]dimension { return &m.dims }).Each(protobuf.CountValueDims).Takes(96, 80),
	}}
	tensorTypeMsg = &protobuf.Message{Name: "TypeProto.Tensor", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.One("elem_type", protobuf.KindEnum, func(m *tensorType) *int32 { return &m.elem }),
		2: protobuf.OneMessage("shape", shapeMsg, func(m *tensorType) **shape { return &m.shape }),
	}}
	// Types of other values than tensors are not looked into.
	typeMsg = &protobuf.Message{Name: "TypeProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("tensor_type", tensorTypeMsg, func(m *typeProto) **tensorType { return &m.tensor }),
		4: protobuf.Bare("sequence_type", protobuf.KindBytes), 5: protobuf.Bare("map_type", protobuf.KindBytes), 6: textField("denotation"),
		7: protobuf.Bare("opaque_type", protobuf.KindBytes), 8: protobuf.Bare("sparse_tensor_type", protobuf.KindBytes), 9: protobuf.Bare("optional_type", protobuf.KindBytes),
	}}
	valueInfoMsg = &protobuf.Message{Name: "ValueInfoProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindString, func(m *valueInfo) *string { return &m.name }),
		2: protobuf.OneMessage("type", typeMsg, func(m *valueInfo) **typeProto { return &m.typ }),
		3: textField("doc_string"),
		4: protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	attributeMsg = &protobuf.Message{Name: "AttributeProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1:  protobuf.One("name", protobuf.KindString, func(m *attribute) *string { return &m.name }),
		2:  protobuf.One("f", protobuf.KindFloat, func(m *attribute) **float32 { return &m.f }),
		3:  protobuf.One("i", protobuf.KindInt, func(m *attribute) **int64 { return &m.i }),
		4:  protobuf.One("s", protobuf.KindBytes, func(m *attribute) **string { return &m.s }),
		5:  protobuf.OneRaw("t", tensorMsg, func(m *attribute) *protobuf.Raw { return &m.t }).Takes(400, 64),
		6:  protobuf.OneMessage("g", nil, func(m *attribute) **graph { return &m.g }).Takes(160, 160),
		7:  protobuf.Many("floats", protobuf.KindFloat, func(m *attribute) *[]float32 { return &m.floats }).Each(protobuf.CountNumbers),
		8:  protobuf.Many("ints", protobuf.KindInt, func(m *attribute) *[]int64 { return &m.ints }).Each(protobuf.CountNumbers),
		9:  protobuf.Many("strings", protobuf.KindBytes, func(m *attribute) *[][]byte { return &m.strings }).Each(protobuf.CountStrings).Takes(40, 24),
		10: protobuf.ManyRaw("tensors", tensorMsg, func(m *attribute) *[]protobuf.Raw { return &m.tensors }).Each(protobuf.CountAttributes).Takes(400, 64),
		11: protobuf.ManyMessages("graphs", nil, func(m *attribute) *[]graph { return &m.graphs }).Each(protobuf.CountAttributes).Takes(160, 160),
		13: textField("doc_string"),
		14: protobuf.BareMessage("tp", typeMsg, false),
		15: protobuf.BareMessage("type_protos", typeMsg, true),
		20: protobuf.One("type", protobuf.KindEnum, func(m *attribute) *int32 { return &m.typ }),
		21: textField("ref_attr_name"),
		22: protobuf.BareMessage("sparse_tensor", sparseMsg, false),
		23: protobuf.BareMessage("sparse_tensors", sparseMsg, true),
	}}
	deviceMsg = &protobuf.Message{Name: "NodeDeviceConfigurationProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: textField("configuration_id"), 2: protobuf.BareMessage("sharding_spec", shardingMsg, true),
	}}
	shardingMsg = &protobuf.Message{Name: "ShardingSpecProto", Unknown: discard, Fields: []protobuf.FieldDef{1: textField("tensor_name")}}
	nodeMsg     = &protobuf.Message{Name: "NodeProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1:  protobuf.Many("input", protobuf.KindString, func(m *node) *[]string { return &m.inputs }).Each(protobuf.CountEdges),
		2:  protobuf.Many("output", protobuf.KindString, func(m *node) *[]string { return &m.outputs }).Each(protobuf.CountEdges),
		3:  protobuf.One("name", protobuf.KindString, func(m *node) *string { return &m.name }),
		4:  protobuf.One("op_type", protobuf.KindString, func(m *node) *string { return &m.op }),
		5:  protobuf.ManyMessages("attribute", attributeMsg, func(m *node) *[]attribute { return &m.attributes }).Each(protobuf.CountAttributes).Takes(104, 240),
		6:  textField("doc_string"),
		7:  protobuf.One("domain", protobuf.KindString, func(m *node) *string { return &m.domain }),
		8:  textField("overload"),
		9:  protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
		10: protobuf.BareMessage("device_configurations", deviceMsg, true),
	}}
	annotationMsg = &protobuf.Message{Name: "TensorAnnotation", Unknown: discard, Fields: []protobuf.FieldDef{
		1: textField("tensor_name"), 2: protobuf.BareMessage("quant_parameter_tensor_names", parameterMsg, true),
	}}
	graphMsg = &protobuf.Message{Name: "GraphProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1:  protobuf.ManyMessages("node", nodeMsg, func(m *graph) *[]node { return &m.nodes }).Each(protobuf.CountNodes).Takes(120, 136),
		2:  protobuf.One("name", protobuf.KindString, func(m *graph) *string { return &m.name }),
		5:  protobuf.BareMessage("initializer", tensorMsg, true).Each(protobuf.CountTensors).Takes(16, 24),
		10: textField("doc_string"),
		11: protobuf.ManyMessages("input", valueInfoMsg, func(m *graph) *[]valueInfo { return &m.inputs }).Each(protobuf.CountValues),
		12: protobuf.ManyMessages("output", valueInfoMsg, func(m *graph) *[]valueInfo { return &m.outputs }).Each(protobuf.CountValues),
		13: protobuf.BareMessage("value_info", valueInfoMsg, true).Each(protobuf.CountValues),
		14: protobuf.BareMessage("quantization_annotation", annotationMsg, true),
		15: protobuf.BareMessage("sparse_initializer", sparseMsg, true).Each(protobuf.CountTensors),
		16: protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	opsetMsg = &protobuf.Message{Name: "OperatorSetIdProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.One("domain", protobuf.KindString, func(m *opset) *string { return &m.domain }),
		2: protobuf.One("version", protobuf.KindInt, func(m *opset) *int64 { return &m.version }),
	}}
	functionMsg = &protobuf.Message{Name: "FunctionProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: textField("name"), 4: bareMany(textField("input")), 5: bareMany(textField("output")), 6: bareMany(textField("attribute")),
		7: protobuf.BareMessage("node", nodeMsg, true).Each(protobuf.CountNodes), 8: textField("doc_string"),
		9: protobuf.BareMessage("opset_import", opsetMsg, true), 10: textField("domain"),
		11: protobuf.BareMessage("attribute_proto", attributeMsg, true).Each(protobuf.CountAttributes),
		12: protobuf.BareMessage("value_info", valueInfoMsg, true).Each(protobuf.CountValues), 13: textField("overload"),
		14: protobuf.BareMessage("metadata_props", entryMsg, true).Each(protobuf.CountProperties),
	}}
	trainingMsg = &protobuf.Message{Name: "TrainingInfoProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("initialization", graphMsg, false), 2: protobuf.BareMessage("algorithm", graphMsg, false),
		3: protobuf.BareMessage("initialization_binding", bindingMsg, true), 4: protobuf.BareMessage("update_binding", bindingMsg, true),
	}}
	modelMsg = &protobuf.Message{Name: "ModelProto", Unknown: discard, Fields: []protobuf.FieldDef{
		1:  protobuf.One("ir_version", protobuf.KindInt, func(m *model) **int64 { return &m.irVersion }),
		2:  protobuf.One("producer_name", protobuf.KindString, func(m *model) **string { return &m.producer }),
		3:  protobuf.One("producer_version", protobuf.KindString, func(m *model) **string { return &m.producerVersion }),
		4:  protobuf.One("domain", protobuf.KindString, func(m *model) **string { return &m.domain }),
		5:  protobuf.One("model_version", protobuf.KindInt, func(m *model) **int64 { return &m.modelVersion }),
		6:  protobuf.One("doc_string", protobuf.KindString, func(m *model) **string { return &m.doc }),
		7:  protobuf.BareMessage("graph", graphMsg, false),
		8:  protobuf.ManyMessages("opset_import", opsetMsg, func(m *model) *[]opset { return &m.opsets }).Each(protobuf.CountProperties),
		14: protobuf.ManyMessages("metadata_props", entryMsg, func(m *model) *[]stringEntry { return &m.props }).Each(protobuf.CountProperties).Takes(48, 48),
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
