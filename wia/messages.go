package wia

// The types below are the messages of wia.proto that describe a model. Each
// keeps the fields it does not know, in wire form, so that a model can be
// rewritten without losing what a later version of the format put there.
// Enums are plain numbers; unknown ones are kept.

// Graph is a computational graph, section 4.1.
type Graph struct {
	Name            string
	Nodes           []Node
	Inputs, Outputs []ValueInfo
	Initializers    []Tensor // name, dims and dtype; data is in the tensor block
	Metadata        *GraphMetadata
	Unknown         []byte
}

// Node is one operator.
type Node struct {
	Name            string
	OpType          string
	Inputs, Outputs []string
	Attributes      []Attribute
	DocString       string
	Domain          string // operator set, "" for ONNX's own
	Unknown         []byte
}

// ValueInfo describes a value that enters or leaves a graph.
type ValueInfo struct {
	Name      string
	Type      *Type // nil when untyped
	DocString string
	Unknown   []byte
}

// GraphMetadata holds a graph's properties.
type GraphMetadata struct {
	Properties []KeyValue
	Unknown    []byte
}

// KeyValue is one property. Keys may repeat.
type KeyValue struct {
	Key, Value string
	Unknown    []byte
}

// Type is ONNX's TypeProto.
type Type struct {
	Tensor     *TensorType // nil for kinds of types that ONNX has and this format does not
	Denotation string
	Unknown    []byte
}

// TensorType is ONNX's TypeProto.Tensor.
type TensorType struct {
	ElemType int32  // code of section 3.1
	Shape    *Shape // nil when not known
	Unknown  []byte
}

// Shape is ONNX's TensorShapeProto.
type Shape struct {
	Dims    []Dimension
	Unknown []byte
}

// Dimension is a number or a symbol.
type Dimension struct {
	Value      *int64
	Param      *string
	Denotation string
	Unknown    []byte
}

// AttributeType says which field of an Attribute counts; the numbers are ONNX's.
type AttributeType int32

// The types of attributes.
const (
	AttributeUndefined AttributeType = 0
	AttributeFloat     AttributeType = 1
	AttributeInt       AttributeType = 2
	AttributeString    AttributeType = 3
	AttributeTensor    AttributeType = 4
	AttributeGraph     AttributeType = 5
	AttributeFloats    AttributeType = 6
	AttributeInts      AttributeType = 7
	AttributeStrings   AttributeType = 8
	AttributeTensors   AttributeType = 9
	AttributeGraphs    AttributeType = 10
)

// Attribute is ONNX's AttributeProto.
type Attribute struct {
	Name        string
	Type        AttributeType
	F           float32
	I           int64
	S           []byte
	T           *Tensor
	G           *Graph
	Floats      []float32
	Ints        []int64
	Strings     [][]byte
	Tensors     []Tensor
	Graphs      []Graph
	DocString   string
	RefAttrName string
	Unknown     []byte

	seen AttributeType // the type that the last value field read belongs to
}

// Tensor is the description of a tensor, section 3.2, with its data where that is
// in the message itself.
type Tensor struct {
	Name     string
	Dims     []int64
	DType    int32 // code of section 3.1
	HasData  bool  // RawData is set, if only to no bytes
	RawData  []byte
	External *ExternalData
	Metadata *TensorMetadata
	Unknown  []byte
}

// ExternalData is a range of another file of the model.
type ExternalData struct {
	Location       string
	Offset, Length int64
	Checksum       string
	Unknown        []byte
}

// TensorMetadata is what a tensor says beyond its data.
type TensorMetadata struct {
	DocString    string
	Properties   []KeyValue
	Quantization *QuantizationParams
	Unknown      []byte
}

// QuantizationParams, section 8.1, with the per-channel parameters of 8.2.
type QuantizationParams struct {
	Type          int32 // 0 none, 1 linear, 2 logarithmic
	Scale         float32
	ZeroPoint     int32
	QuantizedType int32 // code of section 3.1
	PerChannel    *PerChannelQuantization
	Unknown       []byte
}

// PerChannelQuantization overrides scale and zero point along ChannelDim.
type PerChannelQuantization struct {
	Scales     []float32
	ZeroPoints []int32
	ChannelDim int32
	Unknown    []byte
}
