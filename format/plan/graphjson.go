package plan

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/tensor"
)

// jsonText writes metadata and graphs as JSON.
type jsonText struct{ jsontext.Writer }

// marshal returns what write writes.
func marshal[T any](v T, write func(*jsonText, T)) ([]byte, error) {
	j := &jsonText{jsontext.Writer{Replace: true}}
	write(j, v)
	return j.Done()
}

// MarshalJSON returns the graph as one JSON object, with attributes in file order:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// A dimension of -1 is decided at run time. A dtype that is unknown to package tensor is the file's code,
// a missing one is "". A tensor among the attributes is its dtype and shape.
func (g *Graph) MarshalJSON() ([]byte, error) { return marshal(g, (*jsonText).graph) }

func (j *jsonText) graph(g *Graph) {
	if g == nil {
		j.Raw("null")
		return
	}
	j.Raw(`{"name":`)
	j.Text(g.Name)
	j.Raw(`,"inputs":`)
	jsontext.List(&j.Writer, g.Inputs, j.valueInfo)
	j.Raw(`,"outputs":`)
	jsontext.List(&j.Writer, g.Outputs, j.valueInfo)
	j.Raw(`,"nodes":`)
	jsontext.List(&j.Writer, g.Nodes, j.node)
	j.Raw("}")
}

// MarshalJSON returns the node as it is in the result of Graph.MarshalJSON.
func (n Node) MarshalJSON() ([]byte, error) { return marshal(n, (*jsonText).node) }

func (j *jsonText) node(n Node) {
	j.Raw(`{"name":`)
	j.Text(n.Name)
	j.Raw(`,"op":`)
	j.Text(n.Op)
	if n.Domain != "" {
		j.Raw(`,"domain":`)
		j.Text(n.Domain)
	}
	j.Raw(`,"inputs":`)
	jsontext.List(&j.Writer, n.Inputs, j.Text)
	j.Raw(`,"outputs":`)
	jsontext.List(&j.Writer, n.Outputs, j.Text)
	j.Raw(`,"attributes":{`)
	for i, a := range n.Attributes {
		j.Key(i, a.Name)
		j.value(a.Value)
	}
	j.Raw("}}")
}

// MarshalJSON returns an object with name, dtype and shape.
func (v ValueInfo) MarshalJSON() ([]byte, error) { return marshal(v, (*jsonText).valueInfo) }

func (j *jsonText) valueInfo(v ValueInfo) {
	j.Raw(`{"name":`)
	j.Text(v.Name)
	j.Raw(`,"dtype":`)
	if v.DType.Valid() {
		j.Text(v.DType.String())
	} else {
		j.Text(v.Code)
	}
	j.Raw(`,"shape":`)
	jsontext.List(&j.Writer, v.Dims, j.dim)
	j.Raw("}")
}

// MarshalJSON returns the symbol if there is one, and else the number. A symbol that is a number
// too large for Size becomes a JSON number.
func (d Dim) MarshalJSON() ([]byte, error) { return marshal(d, (*jsonText).dim) }

func (j *jsonText) dim(d Dim) {
	if n, err := strconv.ParseUint(d.Symbol, 10, 64); err == nil && n > math.MaxInt64 {
		j.Raw(strconv.FormatUint(n, 10))
		return
	}
	if d.Symbol != "" {
		j.Text(d.Symbol)
		return
	}
	j.Int(d.Size)
}

// value appends a value of any type that Entry or Attribute allows.
func (j *jsonText) value(v any) {
	switch x := v.(type) {
	case tensor.View:
		j.view(x)
	case []tensor.View:
		jsontext.List(&j.Writer, x, j.view)
	case *Graph:
		j.graph(x)
	case []*Graph:
		jsontext.List(&j.Writer, x, j.graph)
	default:
		if !j.Value(v) {
			j.Fail(fmt.Errorf("%w: a value of type %s", ErrUnsupported, TypeName(v)))
		}
	}
}

// view appends dtype and shape of a tensor.
func (j *jsonText) view(v tensor.View) {
	j.Raw(`{"dtype":`)
	j.Text(v.DType().String())
	j.Raw(`,"shape":`)
	jsontext.List(&j.Writer, v.Shape(), j.Int)
	j.Raw("}")
}
