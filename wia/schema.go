package wia

import (
	"github.com/weightmap/weightmap/internal/protobuf"
	"google.golang.org/protobuf/encoding/protowire"
)

// The tables below are wia.proto: the fields of each message with name, kind and
// what limit their elements count for. They drive checking, and give errors their
// names. A test compares them with the compiled wia.proto.

// one is a field of a single value.
func one(name string, k protobuf.Kind) protobuf.FieldDef {
	d := protobuf.Bare(name, k)
	if k.WireType() == protowire.BytesType {
		return d.Takes(1, 1)
	}
	return d
}

// many is a field of several values.
func many(name string, k protobuf.Kind) protobuf.FieldDef {
	d := protobuf.Bare(name, k)
	d.Repeated = true
	switch k {
	case protobuf.KindFloat:
		return d.Takes(4, 4)
	case protobuf.KindInt:
		return d.Takes(8, 8)
	}
	return d.Takes(16, 16)
}

func message(name string, m *protobuf.Message) protobuf.FieldDef {
	return protobuf.BareMessage(name, m, false).Takes(64, 64)
}

func messages(name string, m *protobuf.Message) protobuf.FieldDef {
	return protobuf.BareMessage(name, m, true).Takes(64, 64)
}

var (
	keyValueMsg = &protobuf.Message{Name: "KeyValue", Fields: []protobuf.FieldDef{
		1: one("key", protobuf.KindName),
		2: one("value", protobuf.KindString),
	}}
	perChannelMsg = &protobuf.Message{Name: "PerChannelQuantization", Fields: []protobuf.FieldDef{
		1: many("scales", protobuf.KindFloat),
		2: many("zero_points", protobuf.KindInt),
		3: one("channel_dim", protobuf.KindInt),
	}}
	quantMsg = &protobuf.Message{Name: "QuantizationParams", Fields: []protobuf.FieldDef{
		1: one("type", protobuf.KindEnum),
		2: one("scale", protobuf.KindFloat),
		3: one("zero_point", protobuf.KindInt),
		4: one("quantized_type", protobuf.KindEnum),
		5: message("per_channel", perChannelMsg),
	}}
	tensorMetaMsg = &protobuf.Message{Name: "TensorMetadata", Fields: []protobuf.FieldDef{
		1: one("doc_string", protobuf.KindString),
		2: messages("properties", keyValueMsg).Each(protobuf.CountProperties),
		3: message("quantization", quantMsg),
	}}
	externalMsg = &protobuf.Message{Name: "ExternalData", Fields: []protobuf.FieldDef{
		1: one("location", protobuf.KindString),
		2: one("offset", protobuf.KindInt),
		3: one("length", protobuf.KindInt),
		4: one("checksum", protobuf.KindString),
	}}
	tensorMsg = &protobuf.Message{Name: "Tensor", Arms: 1<<rawArm | 1<<externalArm, Fields: []protobuf.FieldDef{
		1:           one("name", protobuf.KindName),
		2:           many("dims", protobuf.KindInt).Each(protobuf.CountDims),
		3:           one("dtype", protobuf.KindEnum),
		rawArm:      protobuf.Bare("raw_data", protobuf.KindBytes),
		externalArm: message("external_data", externalMsg),
		6:           message("metadata", tensorMetaMsg),
	}}
	compressedMsg = &protobuf.Message{Name: "CompressedTensor", Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("tensor", tensorMsg, false), 2: protobuf.Bare("compression", protobuf.KindEnum), 3: protobuf.Bare("compressed_data", protobuf.KindBytes), 4: protobuf.Bare("uncompressed_size", protobuf.KindInt),
	}}
	tensorDataMsg = &protobuf.Message{Name: "TensorData", Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("tensors", tensorMsg, true), 2: protobuf.BareMessage("compressed_tensors", compressedMsg, true), 15: protobuf.Bare("padding", protobuf.KindBytes),
	}}
	dimensionMsg = &protobuf.Message{Name: "TensorShapeProto.Dimension", Arms: 1<<1 | 1<<2, Fields: []protobuf.FieldDef{
		1: one("dim_value", protobuf.KindInt),
		2: one("dim_param", protobuf.KindString),
		3: one("denotation", protobuf.KindString),
	}}
	shapeMsg = &protobuf.Message{Name: "TensorShapeProto", Fields: []protobuf.FieldDef{
		1: messages("dim", dimensionMsg).Each(protobuf.CountValueDims).Takes(96, 80),
	}}
	tensorTypeMsg = &protobuf.Message{Name: "TypeProto.Tensor", Fields: []protobuf.FieldDef{
		1: one("elem_type", protobuf.KindEnum),
		2: message("shape", shapeMsg),
	}}
	typeMsg = &protobuf.Message{Name: "TypeProto", Fields: []protobuf.FieldDef{
		1: message("tensor_type", tensorTypeMsg),
		6: one("denotation", protobuf.KindString),
	}}
	valueInfoMsg = &protobuf.Message{Name: "ValueInfo", Fields: []protobuf.FieldDef{
		1: one("name", protobuf.KindName),
		2: message("type", typeMsg),
		3: one("doc_string", protobuf.KindString),
	}}
	graphMetaMsg = &protobuf.Message{Name: "GraphMetadata", Fields: []protobuf.FieldDef{
		1: messages("properties", keyValueMsg).Each(protobuf.CountProperties),
	}}
	attributeMsg = &protobuf.Message{Name: "Attribute", Fields: []protobuf.FieldDef{
		1:  one("name", protobuf.KindName),
		2:  one("f", protobuf.KindFloat),
		3:  one("i", protobuf.KindInt),
		4:  one("s", protobuf.KindBytes),
		5:  message("t", tensorMsg).Takes(400, 168),
		6:  message("g", nil).Takes(160, 168),
		7:  many("floats", protobuf.KindFloat).Each(protobuf.CountNumbers),
		8:  many("ints", protobuf.KindInt).Each(protobuf.CountNumbers),
		9:  many("strings", protobuf.KindBytes).Each(protobuf.CountStrings).Takes(40, 24),
		10: messages("tensors", tensorMsg).Each(protobuf.CountAttributes).Takes(400, 168),
		11: messages("graphs", nil).Each(protobuf.CountAttributes).Takes(160, 168),
		13: one("doc_string", protobuf.KindString),
		20: one("type", protobuf.KindEnum),
		21: one("ref_attr_name", protobuf.KindString),
	}}
	nodeMsg = &protobuf.Message{Name: "Node", Fields: []protobuf.FieldDef{
		1: one("name", protobuf.KindName),
		2: one("op_type", protobuf.KindString),
		3: many("inputs", protobuf.KindName).Each(protobuf.CountEdges),
		4: many("outputs", protobuf.KindName).Each(protobuf.CountEdges),
		5: messages("attributes", attributeMsg).Each(protobuf.CountAttributes).Takes(104, 264),
		6: one("doc_string", protobuf.KindString),
		7: one("domain", protobuf.KindOurs),
	}}
	graphMsg = &protobuf.Message{Name: "Graph", Fields: []protobuf.FieldDef{
		1: one("name", protobuf.KindName),
		2: messages("nodes", nodeMsg).Each(protobuf.CountNodes).Takes(120, 160),
		3: messages("inputs", valueInfoMsg).Each(protobuf.CountValues).Takes(64, 64),
		4: messages("outputs", valueInfoMsg).Each(protobuf.CountValues),
		5: messages("initializers", tensorMsg).Each(protobuf.CountTensors).Takes(16, 168),
		6: message("metadata", graphMetaMsg).Takes(0, 64),
	}}
	checksumMsg = &protobuf.Message{Name: "BlockChecksum", Fields: []protobuf.FieldDef{
		1: one("block_type", protobuf.KindString),
		2: one("sha256", protobuf.KindBytes),
	}}
	signatureMsg = &protobuf.Message{Name: "Signature", Fields: []protobuf.FieldDef{
		1: one("algorithm", protobuf.KindString),
		2: one("public_key", protobuf.KindBytes),
		3: one("signature", protobuf.KindBytes),
		4: one("timestamp", protobuf.KindInt),
	}}
	signatureBlockMsg = &protobuf.Message{Name: "SignatureBlock", Fields: []protobuf.FieldDef{
		1:  messages("checksums", checksumMsg),
		2:  message("signature", signatureMsg),
		15: protobuf.Bare("padding", protobuf.KindBytes),
	}}
)

// A graph holds attributes and an attribute graphs: the knot is tied here.
func init() {
	attributeMsg.Fields[6].Message = graphMsg
	attributeMsg.Fields[11].Message = graphMsg
}
