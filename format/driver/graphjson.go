package driver

import (
	"math"
	"strconv"
)

// MarshalJSON writes the graph as one object, attributes in file order:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// A dim of -1 is decided at run time. An unknown dtype is the code the file has
// for it, one that the file does not say is empty. Tensors among the attributes are shown by dtype and shape.
func (g *Graph) MarshalJSON() ([]byte, error) {
	var j jsonText
	j.graph(g)
	return j.done()
}

func (j *jsonText) graph(g *Graph) {
	if g == nil {
		j.raw("null")
		return
	}
	j.raw(`{"name":`)
	j.text(g.Name)
	j.raw(`,"inputs":`)
	array(j, g.Inputs, j.valueInfo)
	j.raw(`,"outputs":`)
	array(j, g.Outputs, j.valueInfo)
	j.raw(`,"nodes":`)
	array(j, g.Nodes, j.node)
	j.raw("}")
}

// MarshalJSON writes one node as Graph.MarshalJSON does, for whoever writes a large
// graph node by node.
func (n Node) MarshalJSON() ([]byte, error) {
	var j jsonText
	j.node(n)
	return j.done()
}

func (j *jsonText) node(n Node) {
	j.raw(`{"name":`)
	j.text(n.Name)
	j.raw(`,"op":`)
	j.text(n.Op)
	if n.Domain != "" {
		j.raw(`,"domain":`)
		j.text(n.Domain)
	}
	j.raw(`,"inputs":`)
	array(j, n.Inputs, j.text)
	j.raw(`,"outputs":`)
	array(j, n.Outputs, j.text)
	j.raw(`,"attributes":{`)
	for i, a := range n.Attributes {
		if i > 0 {
			j.raw(",")
		}
		j.text(a.Name)
		j.raw(":")
		j.value(a.Value)
	}
	j.raw("}}")
}

// MarshalJSON writes name, dtype and shape.
func (v ValueInfo) MarshalJSON() ([]byte, error) {
	var j jsonText
	j.valueInfo(v)
	return j.done()
}

func (j *jsonText) valueInfo(v ValueInfo) {
	j.raw(`{"name":`)
	j.text(v.Name)
	j.raw(`,"dtype":`)
	if v.DType.Valid() {
		j.text(v.DType.String())
	} else {
		j.text(v.Code)
	}
	j.raw(`,"shape":`)
	array(j, v.Dims, j.dim)
	j.raw("}")
}

// MarshalJSON writes the symbol if there is one, else the number. A symbol that
// is a number too large for Size is written as a number.
func (d Dim) MarshalJSON() ([]byte, error) {
	var j jsonText
	j.dim(d)
	return j.done()
}

func (j *jsonText) dim(d Dim) {
	if n, err := strconv.ParseUint(d.Symbol, 10, 64); err == nil && n > math.MaxInt64 {
		j.b = strconv.AppendUint(j.b, n, 10)
		return
	}
	if d.Symbol != "" {
		j.text(d.Symbol)
		return
	}
	j.integer(d.Size)
}
