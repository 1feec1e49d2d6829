// Package onnxgraph makes the neutral graph of messages as ONNX has them, and compares the
// names in them. The formats wia and onnx have the same messages, but for some field numbers.
package onnxgraph

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Schema is the message of a format's graphs, and the numbers of the fields that the
// formats number differently. Those below are the same in both.
type Schema struct {
	Graph                                      *protobuf.Message
	Name, Nodes, Initializers, Inputs, Outputs protowire.Number // of a graph
	Node                                       NodeFields
	TensorName                                 protowire.Number

	Merges        bool // tensors of an attribute that occur again merge, else they are refused
	UniqueOutputs bool // outputs of graphs have unique names

	// Undeclared is the list of a graph without initializers: empty or nil.
	Undeclared []string
	// SetType sets the dtype of a value by its code.
	SetType func(v *driver.ValueInfo, code int32)

	// Code returns the code of a dtype, 0 for one that the format does not have.
	Code func(tensor.DType) int32
	// Explicit says that a value of an attribute is written also when it is zero, and that
	// there is no attribute without a value.
	Explicit bool
	// Neutral are the fields that become metadata, tensors or graph. All others are native.
	Neutral Fields
	// Tensor is the message of a tensor, DataFields those of its fields that say where its
	// data is, and RawData the one that has it.
	Tensor     *protobuf.Message
	DataFields uint64
	RawData    protowire.Number
	// ValueNames are the fields that name values of a graph, except in Separate ones,
	// whose values are their own. Annotations are of no use when a value that they name
	// is gone, nor Typed ones when the types of tensors change.
	ValueNames, Separate, Annotations, Typed Fields

	// CheckTensor says why a tensor cannot be in an attribute, and AppendTensor appends
	// the fields of one that can.
	CheckTensor  func(*tensor.Info) error
	AppendTensor func(b []byte, info *tensor.Info, data []byte) []byte
}

// Fields are fields of each message, as bits.
type Fields map[*protobuf.Message]uint64

// Has reports whether a field of a message is among them.
func (s Fields) Has(m *protobuf.Message, num protowire.Number) bool {
	return s[m]&(1<<num) != 0
}

// Bits returns a set of fields.
func Bits(nums ...protowire.Number) (set uint64) {
	for _, n := range nums {
		set |= 1 << n
	}
	return set
}

// NodeFields are the fields of a node.
type NodeFields struct{ Name, Op, Inputs, Outputs protowire.Number }

// The fields that have the same numbers in both formats.
const (
	nodeAttributes protowire.Number = 5
	nodeDomain     protowire.Number = 7

	attributeName protowire.Number = 1
	attributeType protowire.Number = 20

	valueName   protowire.Number = 1
	valueType   protowire.Number = 2
	typeTensor  protowire.Number = 1 // of a type
	tensorElem  protowire.Number = 1 // of a tensor's type
	tensorShape protowire.Number = 2
	shapeDim    protowire.Number = 1
	dimValue    protowire.Number = 1
	dimParam    protowire.Number = 2
)

// The types of attributes. The value of one is in the field of the next number.
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

// TypeOf returns the type that the value in a field of an attribute belongs to, and
// whether the field holds values.
func TypeOf(field protowire.Number) (typ int32, ok bool) {
	typ = int32(field) - 1
	return typ, typ > Undefined && typ <= Graphs
}

// fieldOf returns the field with the values of a type.
func fieldOf(typ int32) protowire.Number { return protowire.Number(typ + 1) }
