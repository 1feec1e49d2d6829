package wia

import "google.golang.org/protobuf/encoding/protowire"

// The tables below are wia.proto: the fields of each message with name, kind and
// what limit their elements count for, and where a message is kept whole, the
// place of each in its Go struct. They drive checking, decoding and encoding, and
// give errors their names. A test compares them with the compiled wia.proto.

type kind uint8

const (
	kindUnknown kind = iota
	kindOurs         // a name where other writers may have put something else
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

// message is a type of messages.
type message struct {
	name    string
	fields  []fieldDef // by number
	arms    uint64     // bits of the field numbers of a oneof
	unknown func(m any) *[]byte
}

// fieldDef is a field of a message.
type fieldDef struct {
	name     string
	kind     kind
	wire     protowire.Type
	repeated bool // numbers may then be packed
	message  *message
	counted  counted         // what limit its elements count for
	value    func(m any) any // a pointer to the Go field; nil for messages, and where none is kept
	subs     subs            // the Go fields of messages
}

// known returns the definition of a field that the checks and the decoder must
// know, nil for others.
func (m *message) known(num protowire.Number) *fieldDef {
	if int(num) < len(m.fields) {
		if d := &m.fields[num]; d.kind > kindOurs {
			return d
		}
	}
	return nil
}

// subs are the messages in a field, of the message that m points to.
type subs interface {
	len(m any) int
	at(m any, i int) any
	// next returns the message that the next occurrence of the field is read into.
	next(m any) any
}

// optional is a field for one message, which merges when it occurs again.
type optional[M, S any] func(*M) **S

func (o optional[M, S]) len(m any) int {
	if *o(m.(*M)) == nil {
		return 0
	}
	return 1
}

func (o optional[M, S]) at(m any, _ int) any { return *o(m.(*M)) }
func (o optional[M, S]) next(m any) any      { return alloc(o(m.(*M))) }

// list is a field for many messages.
type list[M, S any] func(*M) *[]S

func (l list[M, S]) len(m any) int       { return len(*l(m.(*M))) }
func (l list[M, S]) at(m any, i int) any { return &(*l(m.(*M)))[i] }
func (l list[M, S]) next(m any) any      { return extend(l(m.(*M))) }

// alloc makes the value that *p points to unless it is there already.
func alloc[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// extend appends an empty value.
func extend[T any](list *[]T) *T {
	var zero T
	*list = append(*list, zero)
	return &(*list)[len(*list)-1]
}

// bare is a field that is checked and not kept.
func bare(name string, k kind) fieldDef { return fieldDef{name: name, kind: k, wire: k.wireType()} }

// one is a field of a single value.
func one[M, V any](name string, k kind, at func(*M) *V) fieldDef {
	d := bare(name, k)
	d.value = func(m any) any { return at(m.(*M)) }
	return d
}

// many is a field of several values.
func many[M, V any](name string, k kind, at func(*M) *[]V) fieldDef {
	d := one(name, k, at)
	d.repeated = true
	return d
}

func oneMessage[M, S any](name string, def *message, at func(*M) **S) fieldDef {
	d := bare(name, kindMessage)
	d.message, d.subs = def, optional[M, S](at)
	return d
}

func manyMessages[M, S any](name string, def *message, at func(*M) *[]S) fieldDef {
	d := bare(name, kindMessage)
	d.message, d.subs, d.repeated = def, list[M, S](at), true
	return d
}

// bareMessage is a field of messages that are checked and not kept.
func bareMessage(name string, def *message, repeated bool) fieldDef {
	d := bare(name, kindMessage)
	d.message, d.repeated = def, repeated
	return d
}

// each makes the elements of a field count for a limit.
func (d fieldDef) each(c counted) fieldDef {
	d.counted = c
	return d
}

// unknown is where a message keeps the fields that its table does not have.
func unknown[M any](at func(*M) *[]byte) func(m any) *[]byte {
	return func(m any) *[]byte { return at(m.(*M)) }
}

var (
	keyValueMsg = &message{name: "KeyValue", unknown: unknown(func(m *KeyValue) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("key", kindName, func(m *KeyValue) *string { return &m.Key }),
		2: one("value", kindString, func(m *KeyValue) *string { return &m.Value }),
	}}
	perChannelMsg = &message{name: "PerChannelQuantization", unknown: unknown(func(m *PerChannelQuantization) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: many("scales", kindFloat, func(m *PerChannelQuantization) *[]float32 { return &m.Scales }),
		2: many("zero_points", kindInt, func(m *PerChannelQuantization) *[]int32 { return &m.ZeroPoints }),
		3: one("channel_dim", kindInt, func(m *PerChannelQuantization) *int32 { return &m.ChannelDim }),
	}}
	quantMsg = &message{name: "QuantizationParams", unknown: unknown(func(m *QuantizationParams) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("type", kindEnum, func(m *QuantizationParams) *int32 { return &m.Type }),
		2: one("scale", kindFloat, func(m *QuantizationParams) *float32 { return &m.Scale }),
		3: one("zero_point", kindInt, func(m *QuantizationParams) *int32 { return &m.ZeroPoint }),
		4: one("quantized_type", kindEnum, func(m *QuantizationParams) *int32 { return &m.QuantizedType }),
		5: oneMessage("per_channel", perChannelMsg, func(m *QuantizationParams) **PerChannelQuantization { return &m.PerChannel }),
	}}
	tensorMetaMsg = &message{name: "TensorMetadata", unknown: unknown(func(m *TensorMetadata) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("doc_string", kindString, func(m *TensorMetadata) *string { return &m.DocString }),
		2: manyMessages("properties", keyValueMsg, func(m *TensorMetadata) *[]KeyValue { return &m.Properties }).each(countProperties),
		3: oneMessage("quantization", quantMsg, func(m *TensorMetadata) **QuantizationParams { return &m.Quantization }),
	}}
	externalMsg = &message{name: "ExternalData", unknown: unknown(func(m *ExternalData) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("location", kindString, func(m *ExternalData) *string { return &m.Location }),
		2: one("offset", kindInt, func(m *ExternalData) *int64 { return &m.Offset }),
		3: one("length", kindInt, func(m *ExternalData) *int64 { return &m.Length }),
		4: one("checksum", kindString, func(m *ExternalData) *string { return &m.Checksum }),
	}}
	tensorMsg = &message{name: "Tensor", arms: 1<<rawArm | 1<<externalArm, unknown: unknown(func(m *Tensor) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1:           one("name", kindName, func(m *Tensor) *string { return &m.Name }),
		2:           many("dims", kindInt, func(m *Tensor) *[]int64 { return &m.Dims }).each(countDims),
		3:           one("dtype", kindEnum, func(m *Tensor) *int32 { return &m.DType }),
		rawArm:      one("raw_data", kindBytes, func(m *Tensor) *Tensor { return m }),
		externalArm: oneMessage("external_data", externalMsg, func(m *Tensor) **ExternalData { return &m.External }),
		6:           oneMessage("metadata", tensorMetaMsg, func(m *Tensor) **TensorMetadata { return &m.Metadata }),
	}}
	compressedMsg = &message{name: "CompressedTensor", fields: []fieldDef{
		1: bareMessage("tensor", tensorMsg, false), 2: bare("compression", kindEnum), 3: bare("compressed_data", kindBytes), 4: bare("uncompressed_size", kindInt),
	}}
	tensorDataMsg = &message{name: "TensorData", fields: []fieldDef{
		1: bareMessage("tensors", tensorMsg, true), 2: bareMessage("compressed_tensors", compressedMsg, true), 15: bare("padding", kindBytes),
	}}
	dimensionMsg = &message{name: "TensorShapeProto.Dimension", arms: 1<<1 | 1<<2, unknown: unknown(func(m *Dimension) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("dim_value", kindInt, func(m *Dimension) **int64 { return &m.Value }),
		2: one("dim_param", kindString, func(m *Dimension) **string { return &m.Param }),
		3: one("denotation", kindString, func(m *Dimension) *string { return &m.Denotation }),
	}}
	shapeMsg = &message{name: "TensorShapeProto", unknown: unknown(func(m *Shape) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: manyMessages("dim", dimensionMsg, func(m *Shape) *[]Dimension { return &m.Dims }).each(countValueDims),
	}}
	tensorTypeMsg = &message{name: "TypeProto.Tensor", unknown: unknown(func(m *TensorType) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("elem_type", kindEnum, func(m *TensorType) *int32 { return &m.ElemType }),
		2: oneMessage("shape", shapeMsg, func(m *TensorType) **Shape { return &m.Shape }),
	}}
	typeMsg = &message{name: "TypeProto", unknown: unknown(func(m *Type) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: oneMessage("tensor_type", tensorTypeMsg, func(m *Type) **TensorType { return &m.Tensor }),
		6: one("denotation", kindString, func(m *Type) *string { return &m.Denotation }),
	}}
	valueInfoMsg = &message{name: "ValueInfo", unknown: unknown(func(m *ValueInfo) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("name", kindName, func(m *ValueInfo) *string { return &m.Name }),
		2: oneMessage("type", typeMsg, func(m *ValueInfo) **Type { return &m.Type }),
		3: one("doc_string", kindString, func(m *ValueInfo) *string { return &m.DocString }),
	}}
	graphMetaMsg = &message{name: "GraphMetadata", unknown: unknown(func(m *GraphMetadata) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: manyMessages("properties", keyValueMsg, func(m *GraphMetadata) *[]KeyValue { return &m.Properties }).each(countProperties),
	}}
	attributeMsg = &message{name: "Attribute", unknown: unknown(func(m *Attribute) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1:  one("name", kindName, func(m *Attribute) *string { return &m.Name }),
		2:  one("f", kindFloat, func(m *Attribute) *float32 { return &m.F }),
		3:  one("i", kindInt, func(m *Attribute) *int64 { return &m.I }),
		4:  one("s", kindBytes, func(m *Attribute) *[]byte { return &m.S }),
		5:  oneMessage("t", tensorMsg, func(m *Attribute) **Tensor { return &m.T }),
		6:  oneMessage("g", nil, func(m *Attribute) **Graph { return &m.G }),
		7:  many("floats", kindFloat, func(m *Attribute) *[]float32 { return &m.Floats }).each(countNumbers),
		8:  many("ints", kindInt, func(m *Attribute) *[]int64 { return &m.Ints }).each(countNumbers),
		9:  many("strings", kindBytes, func(m *Attribute) *[][]byte { return &m.Strings }).each(countStrings),
		10: manyMessages("tensors", tensorMsg, func(m *Attribute) *[]Tensor { return &m.Tensors }).each(countAttributes),
		11: manyMessages("graphs", nil, func(m *Attribute) *[]Graph { return &m.Graphs }).each(countAttributes),
		13: one("doc_string", kindString, func(m *Attribute) *string { return &m.DocString }),
		20: one("type", kindEnum, func(m *Attribute) *AttributeType { return &m.Type }),
		21: one("ref_attr_name", kindString, func(m *Attribute) *string { return &m.RefAttrName }),
	}}
	nodeMsg = &message{name: "Node", unknown: unknown(func(m *Node) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("name", kindName, func(m *Node) *string { return &m.Name }),
		2: one("op_type", kindString, func(m *Node) *string { return &m.OpType }),
		3: many("inputs", kindName, func(m *Node) *[]string { return &m.Inputs }).each(countEdges),
		4: many("outputs", kindName, func(m *Node) *[]string { return &m.Outputs }).each(countEdges),
		5: manyMessages("attributes", attributeMsg, func(m *Node) *[]Attribute { return &m.Attributes }).each(countAttributes),
		6: one("doc_string", kindString, func(m *Node) *string { return &m.DocString }),
		7: one("domain", kindOurs, func(m *Node) *string { return &m.Domain }),
	}}
	graphMsg = &message{name: "Graph", unknown: unknown(func(m *Graph) *[]byte { return &m.Unknown }), fields: []fieldDef{
		1: one("name", kindName, func(m *Graph) *string { return &m.Name }),
		2: manyMessages("nodes", nodeMsg, func(m *Graph) *[]Node { return &m.Nodes }).each(countNodes),
		3: manyMessages("inputs", valueInfoMsg, func(m *Graph) *[]ValueInfo { return &m.Inputs }).each(countValues),
		4: manyMessages("outputs", valueInfoMsg, func(m *Graph) *[]ValueInfo { return &m.Outputs }).each(countValues),
		5: manyMessages("initializers", tensorMsg, func(m *Graph) *[]Tensor { return &m.Initializers }).each(countTensors),
		6: oneMessage("metadata", graphMetaMsg, func(m *Graph) **GraphMetadata { return &m.Metadata }),
	}}
	checksumMsg = &message{name: "BlockChecksum", unknown: unknown(func(m *blockChecksum) *[]byte { return &m.unknown }), fields: []fieldDef{
		1: one("block_type", kindString, func(m *blockChecksum) *string { return &m.block }),
		2: one("sha256", kindBytes, func(m *blockChecksum) *[]byte { return &m.sum }),
	}}
	signatureMsg = &message{name: "Signature", unknown: unknown(func(m *signature) *[]byte { return &m.unknown }), fields: []fieldDef{
		1: one("algorithm", kindString, func(m *signature) *string { return &m.algorithm }),
		2: one("public_key", kindBytes, func(m *signature) *[]byte { return &m.publicKey }),
		3: one("signature", kindBytes, func(m *signature) *[]byte { return &m.signature }),
		4: one("timestamp", kindInt, func(m *signature) *int64 { return &m.timestamp }),
	}}
	signatureBlockMsg = &message{name: "SignatureBlock", unknown: unknown(func(m *signatures) *[]byte { return &m.unknown }), fields: []fieldDef{
		1:  manyMessages("checksums", checksumMsg, func(m *signatures) *[]blockChecksum { return &m.checksums }),
		2:  oneMessage("signature", signatureMsg, func(m *signatures) **signature { return &m.signature }),
		15: bare("padding", kindBytes),
	}}
)

// A graph holds attributes and an attribute graphs: the knot is tied here.
func init() {
	attributeMsg.fields[6].message = graphMsg
	attributeMsg.fields[11].message = graphMsg
}
