package wia

import "github.com/weightmap/weightmap/internal/protobuf"

// The tables below correspond to wia.proto. They list the fields of each message
// with their names and kinds and the limit that counts their elements. The reader
// checks messages and names fields in errors by them. A test compares them with
// the compiled wia.proto.

var (
	keyValueMsg = &protobuf.Message{Name: "KeyValue", Fields: []protobuf.FieldDef{
		1: protobuf.One("key", protobuf.KindName),
		2: protobuf.One("value", protobuf.KindString),
	}}
	perChannelMsg = &protobuf.Message{Name: "PerChannelQuantization", Fields: []protobuf.FieldDef{
		1: protobuf.Many("scales", protobuf.KindFloat),
		2: protobuf.Many("zero_points", protobuf.KindInt),
		3: protobuf.One("channel_dim", protobuf.KindInt),
	}}
	quantMsg = &protobuf.Message{Name: "QuantizationParams", Fields: []protobuf.FieldDef{
		1: protobuf.One("type", protobuf.KindEnum),
		2: protobuf.One("scale", protobuf.KindFloat),
		3: protobuf.One("zero_point", protobuf.KindInt),
		4: protobuf.One("quantized_type", protobuf.KindEnum),
		5: protobuf.OneMessage("per_channel", perChannelMsg),
	}}
	tensorMetaMsg = &protobuf.Message{Name: "TensorMetadata", Fields: []protobuf.FieldDef{
		1: protobuf.One("doc_string", protobuf.KindString),
		2: protobuf.ManyMessages("properties", keyValueMsg).Each(protobuf.CountProperties),
		3: protobuf.OneMessage("quantization", quantMsg),
	}}
	externalMsg = &protobuf.Message{Name: "ExternalData", Fields: []protobuf.FieldDef{
		1: protobuf.One("location", protobuf.KindString),
		2: protobuf.One("offset", protobuf.KindInt),
		3: protobuf.One("length", protobuf.KindInt),
		4: protobuf.One("checksum", protobuf.KindString),
	}}
	tensorMsg = &protobuf.Message{Name: "Tensor", Arms: 1<<rawArm | 1<<externalArm, Fields: []protobuf.FieldDef{
		1:           protobuf.One("name", protobuf.KindName),
		2:           protobuf.Many("dims", protobuf.KindInt).Each(protobuf.CountDims),
		3:           protobuf.One("dtype", protobuf.KindEnum),
		rawArm:      protobuf.One("raw_data", protobuf.KindBytes),
		externalArm: protobuf.OneMessage("external_data", externalMsg),
		6:           protobuf.OneMessage("metadata", tensorMetaMsg),
	}}
	compressedMsg = &protobuf.Message{Name: "CompressedTensor", Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("tensor", tensorMsg), 2: protobuf.One("compression", protobuf.KindEnum), 3: protobuf.One("compressed_data", protobuf.KindBytes), 4: protobuf.One("uncompressed_size", protobuf.KindInt),
	}}
	tensorDataMsg = &protobuf.Message{Name: "TensorData", Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("tensors", tensorMsg), 2: protobuf.ManyMessages("compressed_tensors", compressedMsg), 15: protobuf.One("padding", protobuf.KindBytes),
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
	typeMsg = &protobuf.Message{Name: "TypeProto", Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("tensor_type", tensorTypeMsg),
		6: protobuf.One("denotation", protobuf.KindString),
	}}
	valueInfoMsg = &protobuf.Message{Name: "ValueInfo", Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindName),
		2: protobuf.OneMessage("type", typeMsg),
		3: protobuf.One("doc_string", protobuf.KindString),
	}}
	graphMetaMsg = &protobuf.Message{Name: "GraphMetadata", Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("properties", keyValueMsg).Each(protobuf.CountProperties),
	}}
	attributeMsg = &protobuf.Message{Name: "Attribute", Fields: []protobuf.FieldDef{
		1:  protobuf.One("name", protobuf.KindName),
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
		20: protobuf.One("type", protobuf.KindEnum),
		21: protobuf.One("ref_attr_name", protobuf.KindString),
	}}
	nodeMsg = &protobuf.Message{Name: "Node", Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindName),
		2: protobuf.One("op_type", protobuf.KindString),
		3: protobuf.Many("inputs", protobuf.KindName).Each(protobuf.CountEdges),
		4: protobuf.Many("outputs", protobuf.KindName).Each(protobuf.CountEdges),
		5: protobuf.ManyMessages("attributes", attributeMsg).Each(protobuf.CountAttributes),
		6: protobuf.One("doc_string", protobuf.KindString),
		7: protobuf.One("domain", protobuf.KindOurs),
	}}
	graphMsg = &protobuf.Message{Name: "Graph", Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindName),
		2: protobuf.ManyMessages("nodes", nodeMsg).Each(protobuf.CountNodes),
		3: protobuf.ManyMessages("inputs", valueInfoMsg).Each(protobuf.CountValues),
		4: protobuf.ManyMessages("outputs", valueInfoMsg).Each(protobuf.CountValues),
		5: protobuf.ManyMessages("initializers", tensorMsg).Each(protobuf.CountTensors),
		6: protobuf.OneMessage("metadata", graphMetaMsg),
	}}
	checksumMsg = &protobuf.Message{Name: "BlockChecksum", Fields: []protobuf.FieldDef{
		1: protobuf.One("block_type", protobuf.KindString),
		2: protobuf.One("sha256", protobuf.KindBytes),
	}}
	signatureMsg = &protobuf.Message{Name: "Signature", Fields: []protobuf.FieldDef{
		1: protobuf.One("algorithm", protobuf.KindString),
		2: protobuf.One("public_key", protobuf.KindBytes),
		3: protobuf.One("signature", protobuf.KindBytes),
		4: protobuf.One("timestamp", protobuf.KindInt),
	}}
	signatureBlockMsg = &protobuf.Message{Name: "SignatureBlock", Fields: []protobuf.FieldDef{
		1:  protobuf.ManyMessages("checksums", checksumMsg),
		2:  protobuf.OneMessage("signature", signatureMsg),
		15: protobuf.One("padding", protobuf.KindBytes),
	}}
)

// Graphs and attributes contain each other, which the initializers cannot express.
func init() {
	attributeMsg.Fields[6].Message = graphMsg
	attributeMsg.Fields[11].Message = graphMsg
}
