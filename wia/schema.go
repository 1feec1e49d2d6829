package wia

import (
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"google.golang.org/protobuf/encoding/protowire"
)

// The tables below are wia.proto: the fields of each message with name, kind and
// what limit their elements count for, and where a message is kept whole, the
// place of each in its Go struct. They drive checking, decoding and encoding, and
// give errors their names. A test compares them with the compiled wia.proto.

var (
	keyValueMsg = &protobuf.Message{Name: "KeyValue", Unknown: protobuf.Unknown(func(m *KeyValue) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("key", protobuf.KindName, func(m *KeyValue) *string { return &m.Key }),
		2: protobuf.One("value", protobuf.KindString, func(m *KeyValue) *string { return &m.Value }),
	}}
	perChannelMsg = &protobuf.Message{Name: "PerChannelQuantization", Unknown: protobuf.Unknown(func(m *PerChannelQuantization) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.Many("scales", protobuf.KindFloat, func(m *PerChannelQuantization) *[]float32 { return &m.Scales }),
		2: protobuf.Many("zero_points", protobuf.KindInt, func(m *PerChannelQuantization) *[]int32 { return &m.ZeroPoints }),
		3: protobuf.One("channel_dim", protobuf.KindInt, func(m *PerChannelQuantization) *int32 { return &m.ChannelDim }),
	}}
	quantMsg = &protobuf.Message{Name: "QuantizationParams", Unknown: protobuf.Unknown(func(m *QuantizationParams) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("type", protobuf.KindEnum, func(m *QuantizationParams) *int32 { return &m.Type }),
		2: protobuf.One("scale", protobuf.KindFloat, func(m *QuantizationParams) *float32 { return &m.Scale }),
		3: protobuf.One("zero_point", protobuf.KindInt, func(m *QuantizationParams) *int32 { return &m.ZeroPoint }),
		4: protobuf.One("quantized_type", protobuf.KindEnum, func(m *QuantizationParams) *int32 { return &m.QuantizedType }),
		5: protobuf.OneMessage("per_channel", perChannelMsg, func(m *QuantizationParams) **PerChannelQuantization { return &m.PerChannel }),
	}}
	tensorMetaMsg = &protobuf.Message{Name: "TensorMetadata", Unknown: protobuf.Unknown(func(m *TensorMetadata) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("doc_string", protobuf.KindString, func(m *TensorMetadata) *string { return &m.DocString }),
		2: protobuf.ManyMessages("properties", keyValueMsg, func(m *TensorMetadata) *[]KeyValue { return &m.Properties }).Each(protobuf.CountProperties),
		3: protobuf.OneMessage("quantization", quantMsg, func(m *TensorMetadata) **QuantizationParams { return &m.Quantization }),
	}}
	externalMsg = &protobuf.Message{Name: "ExternalData", Unknown: protobuf.Unknown(func(m *ExternalData) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("location", protobuf.KindString, func(m *ExternalData) *string { return &m.Location }),
		2: protobuf.One("offset", protobuf.KindInt, func(m *ExternalData) *int64 { return &m.Offset }),
		3: protobuf.One("length", protobuf.KindInt, func(m *ExternalData) *int64 { return &m.Length }),
		4: protobuf.One("checksum", protobuf.KindString, func(m *ExternalData) *string { return &m.Checksum }),
	}}
	tensorMsg = &protobuf.Message{Name: "Tensor", Arms: 1<<rawArm | 1<<externalArm, Unknown: protobuf.Unknown(func(m *Tensor) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1:           protobuf.One("name", protobuf.KindName, func(m *Tensor) *string { return &m.Name }),
		2:           protobuf.Many("dims", protobuf.KindInt, func(m *Tensor) *[]int64 { return &m.Dims }).Each(protobuf.CountDims),
		3:           protobuf.One("dtype", protobuf.KindEnum, func(m *Tensor) *int32 { return &m.DType }),
		rawArm:      protobuf.TailData("raw_data", func(m *Tensor, b []byte) { m.HasData, m.RawData = true, b }),
		externalArm: protobuf.OneMessage("external_data", externalMsg, func(m *Tensor) **ExternalData { return &m.External }),
		6:           protobuf.OneMessage("metadata", tensorMetaMsg, func(m *Tensor) **TensorMetadata { return &m.Metadata }),
	}}
	compressedMsg = &protobuf.Message{Name: "CompressedTensor", Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("tensor", tensorMsg, false), 2: protobuf.Bare("compression", protobuf.KindEnum), 3: protobuf.Bare("compressed_data", protobuf.KindBytes), 4: protobuf.Bare("uncompressed_size", protobuf.KindInt),
	}}
	tensorDataMsg = &protobuf.Message{Name: "TensorData", Fields: []protobuf.FieldDef{
		1: protobuf.BareMessage("tensors", tensorMsg, true), 2: protobuf.BareMessage("compressed_tensors", compressedMsg, true), 15: protobuf.Bare("padding", protobuf.KindBytes),
	}}
	dimensionMsg = &protobuf.Message{Name: "TensorShapeProto.Dimension", Arms: 1<<1 | 1<<2, Unknown: protobuf.Unknown(func(m *Dimension) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("dim_value", protobuf.KindInt, func(m *Dimension) **int64 { return &m.Value }),
		2: protobuf.One("dim_param", protobuf.KindString, func(m *Dimension) **string { return &m.Param }),
		3: protobuf.One("denotation", protobuf.KindString, func(m *Dimension) *string { return &m.Denotation }),
	}}
	shapeMsg = &protobuf.Message{Name: "TensorShapeProto", Unknown: protobuf.Unknown(func(m *Shape) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("dim", dimensionMsg, func(m *Shape) *[]Dimension { return &m.Dims }).Each(protobuf.CountValueDims).Takes(96, 80),
	}}
	tensorTypeMsg = &protobuf.Message{Name: "TypeProto.Tensor", Unknown: protobuf.Unknown(func(m *TensorType) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("elem_type", protobuf.KindEnum, func(m *TensorType) *int32 { return &m.ElemType }),
		2: protobuf.OneMessage("shape", shapeMsg, func(m *TensorType) **Shape { return &m.Shape }),
	}}
	typeMsg = &protobuf.Message{Name: "TypeProto", Unknown: protobuf.Unknown(func(m *Type) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.OneMessage("tensor_type", tensorTypeMsg, func(m *Type) **TensorType { return &m.Tensor }),
		6: protobuf.One("denotation", protobuf.KindString, func(m *Type) *string { return &m.Denotation }),
	}}
	valueInfoMsg = &protobuf.Message{Name: "ValueInfo", Unknown: protobuf.Unknown(func(m *ValueInfo) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindName, func(m *ValueInfo) *string { return &m.Name }),
		2: protobuf.OneMessage("type", typeMsg, func(m *ValueInfo) **Type { return &m.Type }),
		3: protobuf.One("doc_string", protobuf.KindString, func(m *ValueInfo) *string { return &m.DocString }),
	}}
	graphMetaMsg = &protobuf.Message{Name: "GraphMetadata", Unknown: protobuf.Unknown(func(m *GraphMetadata) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.ManyMessages("properties", keyValueMsg, func(m *GraphMetadata) *[]KeyValue { return &m.Properties }).Each(protobuf.CountProperties),
	}}
	attributeMsg = &protobuf.Message{Name: "Attribute", Unknown: protobuf.Unknown(func(m *Attribute) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1:  protobuf.One("name", protobuf.KindName, func(m *Attribute) *string { return &m.Name }),
		2:  protobuf.One("f", protobuf.KindFloat, func(m *Attribute) *float32 { return &m.F }),
		3:  protobuf.One("i", protobuf.KindInt, func(m *Attribute) *int64 { return &m.I }),
		4:  protobuf.One("s", protobuf.KindBytes, func(m *Attribute) *[]byte { return &m.S }),
		5:  protobuf.OneMessage("t", tensorMsg, func(m *Attribute) **Tensor { return &m.T }).Takes(400, 168),
		6:  protobuf.OneMessage("g", nil, func(m *Attribute) **Graph { return &m.G }).Takes(160, 168),
		7:  protobuf.Many("floats", protobuf.KindFloat, func(m *Attribute) *[]float32 { return &m.Floats }).Each(protobuf.CountNumbers),
		8:  protobuf.Many("ints", protobuf.KindInt, func(m *Attribute) *[]int64 { return &m.Ints }).Each(protobuf.CountNumbers),
		9:  protobuf.Many("strings", protobuf.KindBytes, func(m *Attribute) *[][]byte { return &m.Strings }).Each(protobuf.CountStrings).Takes(40, 24),
		10: protobuf.ManyMessages("tensors", tensorMsg, func(m *Attribute) *[]Tensor { return &m.Tensors }).Each(protobuf.CountAttributes).Takes(400, 168),
		11: protobuf.ManyMessages("graphs", nil, func(m *Attribute) *[]Graph { return &m.Graphs }).Each(protobuf.CountAttributes).Takes(160, 168),
		13: protobuf.One("doc_string", protobuf.KindString, func(m *Attribute) *string { return &m.DocString }),
		20: protobuf.One("type", protobuf.KindEnum, func(m *Attribute) *int32 { return (*int32)(&m.Type) }),
		21: protobuf.One("ref_attr_name", protobuf.KindString, func(m *Attribute) *string { return &m.RefAttrName }),
	}}
	nodeMsg = &protobuf.Message{Name: "Node", Unknown: protobuf.Unknown(func(m *Node) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindName, func(m *Node) *string { return &m.Name }),
		2: protobuf.One("op_type", protobuf.KindString, func(m *Node) *string { return &m.OpType }),
		3: protobuf.Many("inputs", protobuf.KindName, func(m *Node) *[]string { return &m.Inputs }).Each(protobuf.CountEdges),
		4: protobuf.Many("outputs", protobuf.KindName, func(m *Node) *[]string { return &m.Outputs }).Each(protobuf.CountEdges),
		5: protobuf.ManyMessages("attributes", attributeMsg, func(m *Node) *[]Attribute { return &m.Attributes }).Each(protobuf.CountAttributes).Takes(104, 264),
		6: protobuf.One("doc_string", protobuf.KindString, func(m *Node) *string { return &m.DocString }),
		7: protobuf.One("domain", protobuf.KindOurs, func(m *Node) *string { return &m.Domain }),
	}}
	graphMsg = &protobuf.Message{Name: "Graph", Unknown: protobuf.Unknown(func(m *Graph) *[]byte { return &m.Unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("name", protobuf.KindName, func(m *Graph) *string { return &m.Name }),
		2: protobuf.ManyMessages("nodes", nodeMsg, func(m *Graph) *[]Node { return &m.Nodes }).Each(protobuf.CountNodes).Takes(120, 160),
		3: protobuf.ManyMessages("inputs", valueInfoMsg, func(m *Graph) *[]ValueInfo { return &m.Inputs }).Each(protobuf.CountValues).Takes(64, 64),
		4: protobuf.ManyMessages("outputs", valueInfoMsg, func(m *Graph) *[]ValueInfo { return &m.Outputs }).Each(protobuf.CountValues),
		5: protobuf.ManyMessages("initializers", tensorMsg, func(m *Graph) *[]Tensor { return &m.Initializers }).Each(protobuf.CountTensors).Takes(16, 168),
		6: protobuf.OneMessage("metadata", graphMetaMsg, func(m *Graph) **GraphMetadata { return &m.Metadata }).Takes(0, 64),
	}}
	checksumMsg = &protobuf.Message{Name: "BlockChecksum", Unknown: protobuf.Unknown(func(m *blockChecksum) *[]byte { return &m.unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("block_type", protobuf.KindString, func(m *blockChecksum) *string { return &m.block }),
		2: protobuf.One("sha256", protobuf.KindBytes, func(m *blockChecksum) *[]byte { return &m.sum }),
	}}
	signatureMsg = &protobuf.Message{Name: "Signature", Unknown: protobuf.Unknown(func(m *signature) *[]byte { return &m.unknown }), Fields: []protobuf.FieldDef{
		1: protobuf.One("algorithm", protobuf.KindString, func(m *signature) *string { return &m.algorithm }),
		2: protobuf.One("public_key", protobuf.KindBytes, func(m *signature) *[]byte { return &m.publicKey }),
		3: protobuf.One("signature", protobuf.KindBytes, func(m *signature) *[]byte { return &m.signature }),
		4: protobuf.One("timestamp", protobuf.KindInt, func(m *signature) *int64 { return &m.timestamp }),
	}}
	signatureBlockMsg = &protobuf.Message{Name: "SignatureBlock", Unknown: protobuf.Unknown(func(m *signatures) *[]byte { return &m.unknown }), Fields: []protobuf.FieldDef{
		1:  protobuf.ManyMessages("checksums", checksumMsg, func(m *signatures) *[]blockChecksum { return &m.checksums }),
		2:  protobuf.OneMessage("signature", signatureMsg, func(m *signatures) **signature { return &m.signature }),
		15: protobuf.Bare("padding", protobuf.KindBytes),
	}}
)

// A graph holds attributes and an attribute graphs: the knot is tied here, and what
// is not in the tables is said.
func init() {
	attributeMsg.Fields[6].Message = graphMsg
	attributeMsg.Fields[11].Message = graphMsg
	attributeMsg.Seen = func(m any, num protowire.Number) {
		if typ, ok := onnxgraph.TypeOf(num); ok {
			m.(*Attribute).seen = AttributeType(typ)
		}
	}
	attributeMsg.Typed = func(m any) any {
		a := m.(*Attribute)
		if a.Type != AttributeUndefined || a.seen == AttributeUndefined {
			return m
		}
		// A value that says nothing of its type by being zero needs the type.
		typed := *a
		typed.Type = a.seen
		return &typed
	}
	// The data of a tensor comes last, so that a writer can put it where it wants.
	tensorMsg.Tail = func(m any, b []byte) []byte {
		if t := m.(*Tensor); t.HasData {
			b = protobuf.PutBytes(b, rawArm, t.RawData)
		}
		return b
	}
}
