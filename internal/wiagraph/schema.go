// Package wiagraph converts between the neutral graph and ONNX's messages, and compares the names
// in them. The formats wia and onnx have the same messages, except for some field numbers.
package wiagraph

import (
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Schema describes the graph message of a format, and the field numbers that differ between the
// formats. Those in the constants below are the same in both.
type Schema struct {
	Graph                                      *protobuf.Message
	Name, Nodes, Initializers, Inputs, Outputs protowire.Number // of a graph
	Node                                       NodeFields
	TensorName                                 protowire.Number

	Merges        bool // merge repeated tensor fields of an attribute; otherwise they are an error
	UniqueOutputs bool // names of graph outputs are unique

	// DType returns the dtype of a code, or Invalid. Code returns the code of a dtype, or 0.
	DType func(code int32) tensor.DType
	Code  func(tensor.DType) int32
	// Explicit says that attribute values are written even if they are zero, and that every
	// attribute has a value.
	Explicit bool
	// DataFields are the fields of a tensor that locate its data, RawData is the one with the data.
	DataFields []protowire.Number
	RawData    protowire.Number

	// CheckTensor returns an error if a tensor cannot be in an attribute. AppendTensor appends the
	// fields of a tensor.
	CheckTensor  func(*tensor.Info) error
	AppendTensor func(b []byte, info *tensor.Info, data []byte) []byte
}

// tensor returns the message of a tensor.
func (sc *Schema) tensor() *protobuf.Message { return sc.Graph.Fields[sc.Initializers].Message }

// NodeFields are the field numbers of a node.
type NodeFields struct{ Name, Op, Inputs, Outputs protowire.Number }

// The fields with the same numbers in both formats.
const (
	nodeAttributes protowire.Number = 5
	nodeDomain     protowire.Number = 7

	attributeName protowire.Number = 1
	attributeType protowire.Number = 20

	valueName   protowire.Number = 1
	valueOf     protowire.Number = 2
	typeTensor  protowire.Number = 1 // of a type
	tensorElem  protowire.Number = 1 // of a tensor's type
	tensorShape protowire.Number = 2
	shapeDim    protowire.Number = 1
	dimValue    protowire.Number = 1
	dimParam    protowire.Number = 2
)

// The types of attributes. The field with the value is the type plus one.
const (
	Undefined = iota
	Float
	Int
	String
	Tensor
	Graph
	Floats
	Ints
	Strings
	Tensors
	Graphs
)

// fieldOf returns the field with the values of an attribute type.
func fieldOf(typ int32) protowire.Number { return protowire.Number(typ + 1) }

// The types that a protobuf.Into points to in the neutral graph if a field needs more than its
// value.
type (
	initializers []string
	elemType     schema.ValueInfo
	shape        []schema.Dim
)

func (sc *Schema) graphFields(g *schema.Graph) (to protobuf.Into) {
	to[sc.Name] = &g.Name
	to[sc.Nodes] = &g.Nodes
	to[sc.Inputs] = &g.Inputs
	to[sc.Outputs] = &g.Outputs
	to[sc.Initializers] = (*initializers)(&g.Initializers)
	return to
}

func (sc *Schema) nodeFields(n *schema.Node) (to protobuf.Into) {
	to[sc.Node.Name] = &n.Name
	to[sc.Node.Op] = &n.Op
	to[sc.Node.Inputs] = &n.Inputs
	to[sc.Node.Outputs] = &n.Outputs
	to[nodeAttributes] = &n.Attributes
	to[nodeDomain] = &n.Domain
	return to
}

func valueFields(v *schema.ValueInfo) protobuf.Into {
	typ := protobuf.Into{tensorElem: (*elemType)(v), tensorShape: (*shape)(&v.Dims)}
	return protobuf.Into{valueName: &v.Name, valueOf: &protobuf.Into{typeTensor: &typ}}
}
