// Package onnxgraph converts between the neutral graph and ONNX's messages, and compares what is in
// them. The formats wia and onnx have the same messages, except for some field numbers.
package onnxgraph

import (
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// Dialect describes the graph messages of a format. Field numbers that are the same in both formats
// are constants below.
type Dialect struct {
	Schema        messages.Schema
	Graph, Tensor messages.Type
	Sparse        messages.Type // 0 if the format has no sparse tensors

	GraphFields GraphFields
	NodeFields  NodeFields
	TensorName  int

	Merges        bool // merge repeated tensor fields of an attribute; otherwise they are an error
	UniqueOutputs bool // names of graph outputs are unique
	Declares      bool // the initializers of the outermost graph only declare tensors

	// DType returns the dtype of a code, or Invalid. Code returns the code of a dtype, or 0.
	DType func(code int32) tensor.DType
	Code  func(tensor.DType) int32
	// Explicit says that attribute values are written even if they are zero, and that every
	// attribute has a value.
	Explicit bool

	// CheckTensor returns an error if a tensor cannot be in an attribute. AppendTensor appends the
	// fields of a tensor.
	CheckTensor  func(*tensor.Info) error
	AppendTensor func(b []byte, info *tensor.Info, data []byte) []byte
}

// GraphFields are the field numbers of a graph.
type GraphFields struct{ Name, Nodes, Initializers, Inputs, Outputs int }

// NodeFields are the field numbers of a node. Op is that of op_type.
type NodeFields struct{ Name, Op, Inputs, Outputs int }

// The fields with the same numbers in both formats. Sparse tensors are in ONNX only.
const (
	graphSparse = 15

	nodeAttributes = 5
	nodeDomain     = 7

	attributeName    = 1
	attributeFloat   = 2
	attributeInt     = 3
	attributeString  = 4
	attributeTensor  = 5
	attributeGraph   = 6
	attributeFloats  = 7
	attributeInts    = 8
	attributeStrings = 9
	attributeTensors = 10
	attributeGraphs  = 11
	attributeType    = 20
	attributeSparse  = 22
	attributeSparses = 23
	valueName        = 1
	valueType        = 2
	tensorType       = 1 // of a type: the field for tensors
	tensorElem       = 1 // of a tensor's type
	tensorShape      = 2
	shapeDim         = 1
	dimValue         = 1
	dimParam         = 2
)

// The values of the type of an attribute. The field with the value is the type plus one.
const (
	typeUndefined = 0
	typeFloat     = attributeFloat - 1
	typeInt       = attributeInt - 1
	typeString    = attributeString - 1
	typeTensor    = attributeTensor - 1
	typeGraph     = attributeGraph - 1
	typeFloats    = attributeFloats - 1
	typeInts      = attributeInts - 1
	typeStrings   = attributeStrings - 1
	typeTensors   = attributeTensors - 1
	typeGraphs    = attributeGraphs - 1
)

// node returns the type of a node.
func (d *Dialect) node() messages.Type { return d.Schema[d.Graph].Fields[d.GraphFields.Nodes].Of }

// attribute returns the type of an attribute.
func (d *Dialect) attribute() messages.Type { return d.Schema[d.node()].Fields[nodeAttributes].Of }
