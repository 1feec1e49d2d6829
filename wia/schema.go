package wia

import "google.golang.org/protobuf/encoding/protowire"

// The tables below are wia.proto as the reader needs it: the fields it knows,
// their names for errors, and their kinds. A test compares them with the
// compiled wia.proto.

type kind uint8

const (
	kindUnknown kind = iota
	kindInt          // int32 and int64, as varint
	kindEnum         // varint within int32
	kindFloat        // fixed32
	kindString       // UTF-8
	kindName         // UTF-8 without NUL
	kindBytes
	kindMessage
)

func (k kind) wireType() protowire.Type {
	switch k {
	case kindInt, kindEnum:
		return protowire.VarintType
	case kindFloat:
		return protowire.Fixed32Type
	}
	return protowire.BytesType
}

type fieldDef struct {
	name     string
	kind     kind
	wire     protowire.Type
	repeated bool // numbers may then be packed
	message  *message
	counted  counted // what limit its elements count for
}

type message struct {
	name   string
	fields []fieldDef // by number
	arms   uint64     // bits of the field numbers of a oneof
}

func one(name string, k kind) fieldDef { return fieldDef{name: name, kind: k, wire: k.wireType()} }

func many(name string, k kind) fieldDef {
	d := one(name, k)
	d.repeated = true
	return d
}

func sub(name string, m *message) fieldDef {
	d := one(name, kindMessage)
	d.message = m
	return d
}

func subs(name string, m *message) fieldDef {
	d := sub(name, m)
	d.repeated = true
	return d
}

// each makes the elements of a field count for a limit.
func (d fieldDef) each(c counted) fieldDef {
	d.counted = c
	return d
}

var (
	keyValueMsg = &message{name: "KeyValue", fields: []fieldDef{
		1: one("key", kindName), 2: one("value", kindString),
	}}
	perChannelMsg = &message{name: "PerChannelQuantization", fields: []fieldDef{
		1: many("scales", kindFloat), 2: many("zero_points", kindInt), 3: one("channel_dim", kindInt),
	}}
	quantMsg = &message{name: "QuantizationParams", fields: []fieldDef{
		1: one("type", kindEnum), 2: one("scale", kindFloat), 3: one("zero_point", kindInt),
		4: one("quantized_type", kindEnum), 5: sub("per_channel", perChannelMsg),
	}}
	tensorMetaMsg = &message{name: "TensorMetadata", fields: []fieldDef{
		1: one("doc_string", kindString), 2: subs("properties", keyValueMsg).each(countProperties), 3: sub("quantization", quantMsg),
	}}
	externalMsg = &message{name: "ExternalData", fields: []fieldDef{
		1: one("location", kindString), 2: one("offset", kindInt), 3: one("length", kindInt), 4: one("checksum", kindString),
	}}
	tensorMsg = &message{name: "Tensor", arms: 1<<4 | 1<<5, fields: []fieldDef{
		1: one("name", kindName), 2: many("dims", kindInt).each(countDims), 3: one("dtype", kindEnum),
		4: one("raw_data", kindBytes), 5: sub("external_data", externalMsg), 6: sub("metadata", tensorMetaMsg),
	}}
	compressedMsg = &message{name: "CompressedTensor", fields: []fieldDef{
		1: sub("tensor", tensorMsg), 2: one("compression", kindEnum), 3: one("compressed_data", kindBytes), 4: one("uncompressed_size", kindInt),
	}}
	tensorDataMsg = &message{name: "TensorData", fields: []fieldDef{
		1: subs("tensors", tensorMsg), 2: subs("compressed_tensors", compressedMsg), 15: one("padding", kindBytes),
	}}
	dimensionMsg = &message{name: "TensorShapeProto.Dimension", arms: 1<<1 | 1<<2, fields: []fieldDef{
		1: one("dim_value", kindInt), 2: one("dim_param", kindString), 3: one("denotation", kindString),
	}}
	shapeMsg = &message{name: "TensorShapeProto", fields: []fieldDef{
		1: subs("dim", dimensionMsg).each(countValueDims),
	}}
	tensorTypeMsg = &message{name: "TypeProto.Tensor", fields: []fieldDef{
		1: one("elem_type", kindEnum), 2: sub("shape", shapeMsg),
	}}
	typeMsg = &message{name: "TypeProto", fields: []fieldDef{
		1: sub("tensor_type", tensorTypeMsg), 6: one("denotation", kindString),
	}}
	valueInfoMsg = &message{name: "ValueInfo", fields: []fieldDef{
		1: one("name", kindName), 2: sub("type", typeMsg), 3: one("doc_string", kindString),
	}}
	graphMetaMsg = &message{name: "GraphMetadata", fields: []fieldDef{
		1: subs("properties", keyValueMsg).each(countProperties),
	}}
	attributeMsg = &message{name: "Attribute", fields: []fieldDef{
		1: one("name", kindName), 2: one("f", kindFloat), 3: one("i", kindInt), 4: one("s", kindBytes),
		5: sub("t", tensorMsg), 6: sub("g", nil), 7: many("floats", kindFloat).each(countNumbers), 8: many("ints", kindInt).each(countNumbers),
		9: many("strings", kindBytes).each(countStrings), 10: subs("tensors", tensorMsg).each(countAttributes), 11: subs("graphs", nil).each(countAttributes),
		13: one("doc_string", kindString), 20: one("type", kindEnum), 21: one("ref_attr_name", kindString),
	}}
	nodeMsg = &message{name: "Node", fields: []fieldDef{
		1: one("name", kindName), 2: one("op_type", kindString), 3: many("inputs", kindName).each(countEdges), 4: many("outputs", kindName).each(countEdges),
		5: subs("attributes", attributeMsg).each(countAttributes), 6: one("doc_string", kindString),
	}}
	graphMsg = &message{name: "Graph", fields: []fieldDef{
		1: one("name", kindName), 2: subs("nodes", nodeMsg).each(countNodes), 3: subs("inputs", valueInfoMsg).each(countValues), 4: subs("outputs", valueInfoMsg).each(countValues),
		5: subs("initializers", tensorMsg).each(countTensors), 6: sub("metadata", graphMetaMsg),
	}}
	checksumMsg = &message{name: "BlockChecksum", fields: []fieldDef{
		1: one("block_type", kindString), 2: one("sha256", kindBytes),
	}}
	signatureMsg = &message{name: "Signature", fields: []fieldDef{
		1: one("algorithm", kindString), 2: one("public_key", kindBytes), 3: one("signature", kindBytes), 4: one("timestamp", kindInt),
	}}
	signatureBlockMsg = &message{name: "SignatureBlock", fields: []fieldDef{
		1: subs("checksums", checksumMsg), 2: sub("signature", signatureMsg), 15: one("padding", kindBytes),
	}}
)

// A graph holds attributes and an attribute graphs: the knot is tied here.
func init() {
	attributeMsg.fields[6].message = graphMsg
	attributeMsg.fields[11].message = graphMsg
}
