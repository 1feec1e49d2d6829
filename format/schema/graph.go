package schema

import (
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// Graph is an operator graph in a form that all formats share. Edges are names: an input of a node
// names a graph input, a tensor of the model or an output of another node.
type Graph struct {
	Name    string      // "" for none
	Inputs  []ValueInfo // that a caller of the graph supplies
	Outputs []ValueInfo // that the graph returns
	Nodes   []Node      // in the order of the file
	// Initializers lists the tensors with data that the graph declares, by name. It is nil
	// where the format records no such list.
	Initializers []string
}

// Clone returns a copy of the graph with its nodes, lists and subgraphs. The copy shares
// attributes that are slices of numbers or strings.
func (g *Graph) Clone() *Graph {
	if g == nil {
		return nil
	}
	c := *g
	c.Inputs = slices.Clone(g.Inputs)
	c.Outputs = slices.Clone(g.Outputs)
	c.Nodes = slices.Clone(g.Nodes)
	c.Initializers = slices.Clone(g.Initializers)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Inputs = slices.Clone(n.Inputs)
		n.Outputs = slices.Clone(n.Outputs)
		n.Attributes = slices.Clone(n.Attributes)
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

// Walk calls f with the graph, then with the graphs in its nodes' attributes. The graph may be nil.
func (g *Graph) Walk(f func(*Graph)) {
	if g == nil {
		return
	}
	f(g)
	for _, n := range g.Nodes {
		for _, a := range n.Attributes {
			switch v := a.Value.(type) {
			case *Graph:
				v.Walk(f)
			case []*Graph:
				for _, g := range v {
					g.Walk(f)
				}
			}
		}
	}
}

// Values calls f with the name of every value that nodes and graph inputs and outputs refer to,
// including those in nested graphs. f may change the name.
func (g *Graph) Values(f func(name *string)) {
	g.Walk(func(g *Graph) {
		for i := range g.Inputs {
			f(&g.Inputs[i].Name)
		}
		for i := range g.Outputs {
			f(&g.Outputs[i].Name)
		}
		for i := range g.Nodes {
			n := &g.Nodes[i]
			for k := range n.Inputs {
				f(&n.Inputs[k])
			}
			for k := range n.Outputs {
				f(&n.Outputs[k])
			}
		}
	})
}

// ValueInfo describes a value that enters or leaves a graph.
type ValueInfo struct {
	Name  string       // of the input or output
	DType tensor.DType // Invalid when the file names none, or one that package tensor lacks
	Code  string       // the file's decimal code of the dtype where DType is Invalid, "" for none
	Dims  []Dim        // nil for a scalar and for an unknown shape
}

// Dim is one dimension of a ValueInfo: a number, or a symbol such as "batch".
type Dim struct {
	Size   int64  // DynamicDim when it is not fixed
	Symbol string // the name of a dynamic dimension, "" for none
}

// DynamicDim is the Size of a dimension that is decided at run time.
const DynamicDim = -1

// Node is one operator of a graph.
type Node struct {
	Name       string      // "" for none
	Op         string      // "Conv2D", or the decimal code of an unknown operator
	Domain     string      // the operator set, "" for that of the format
	Inputs     []string    // names of values, "" for an optional input that is left out
	Outputs    []string    // names of values
	Attributes []Attribute // the parameters
}

// Attribute is a named parameter of a node. Value is an int64, float64, float32, string, bool,
// []int64, []int32, []float32, []float64, []string, tensor.View, []tensor.View, *Graph, []*Graph or
// json.RawMessage.
type Attribute struct {
	Name  string // in the format, such as "strides"
	Value any    // of one of the types above
}

// FixedDims returns dimensions of fixed sizes.
func FixedDims(shape ...int64) []Dim {
	dims := make([]Dim, len(shape))
	for i, d := range shape {
		dims[i].Size = d
	}
	return dims
}

// OperatorSet is a version of the operators of a domain, as a graph of ONNX or WIA imports it.
type OperatorSet struct {
	Domain  string `json:"domain"`  // "ai.onnx" or "" for the operators of ONNX
	Version int64  `json:"version"` // the number of the version, 17
}
