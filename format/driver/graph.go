package driver

import (
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// Graph is the neutral form of an operator graph. Edges are names: a node's
// inputs are graph inputs, tensors of the model, or outputs of other nodes.
type Graph struct {
	Name    string
	Inputs  []ValueInfo
	Outputs []ValueInfo
	Nodes   []Node
	// Initializers lists the names of tensors with data that the graph
	// declares, where a format records that; nil elsewhere.
	Initializers []string
}

// Clone returns a graph with lists and subgraphs of its own. Attributes that are slices
// of numbers or strings are shared.
func (g *Graph) Clone() *Graph {
	if g == nil {
		return nil
	}
	c := *g
	c.Inputs, c.Outputs, c.Nodes = slices.Clone(g.Inputs), slices.Clone(g.Outputs), slices.Clone(g.Nodes)
	c.Initializers = slices.Clone(g.Initializers)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Inputs, n.Outputs, n.Attributes = slices.Clone(n.Inputs), slices.Clone(n.Outputs), slices.Clone(n.Attributes)
		for j := range n.Attributes {
			switch v := n.Attributes[j].Value.(type) {
			case *Graph:
				n.Attributes[j].Value = v.Clone()
			case []*Graph:
				v = slices.Clone(v)
				for k := range v {
					v[k] = v[k].Clone()
				}
				n.Attributes[j].Value = v
			}
		}
	}
	return &c
}

// ValueInfo describes a value that enters or leaves a graph.
type ValueInfo struct {
	Name  string
	DType tensor.DType // Invalid when the file does not say, or says what we do not know
	Code  string       // what the file says where DType is Invalid: its code as a decimal number, "" for nothing
	Dims  []Dim        // nil also when the shape is not known
}

// Dim is one dim of a ValueInfo: a number, or a symbol such as "batch".
type Dim struct {
	Size   int64  // DynamicDim when not fixed
	Symbol string // may name a dynamic dim
}

// DynamicDim is the Size of a dim that is decided at run time.
const DynamicDim = -1

// Node is one operator.
type Node struct {
	Name       string
	Op         string // "Conv2D"; unknown codes as decimal numbers
	Domain     string // operator set, "" for the format's own
	Inputs     []string
	Outputs    []string
	Attributes []Attribute
}

// Attribute is a named parameter of a node. Value is an int64, float64,
// float32, string, bool, []int64, []int32, []float32, []float64, []string, tensor.View, *Graph,
// []tensor.View, []*Graph, or json.RawMessage.
type Attribute struct {
	Name  string
	Value any
}

// FixedDims makes dims of plain numbers.
func FixedDims(shape ...int64) []Dim {
	dims := make([]Dim, len(shape))
	for i, d := range shape {
		dims[i].Size = d
	}
	return dims
}
