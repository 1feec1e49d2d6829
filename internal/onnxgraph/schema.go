// Package onnxgraph makes the neutral graph of messages as ONNX has them, and compares the
// names in them. The formats wia and onnx have the same messages, but for some field numbers.
package onnxgraph

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"google.golang.org/protobuf/encoding/protowire"
)

// Schema is the message of a format's graphs, and the numbers of the fields that the
// formats number differently. Those below are the same in both.
type Schema struct {
	Graph                                      *protobuf.Message
	Name, Nodes, Initializers, Inputs, Outputs protowire.Number // of a graph
	Node                                       NodeFields
	TensorName                                 protowire.Number

	// Undeclared is the list of a graph without initializers: empty or nil.
	Undeclared []string
	// SetType sets the dtype of a value by its code.
	SetType func(v *driver.ValueInfo, code int32)
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
