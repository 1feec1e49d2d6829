package schema

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/tensor"
)

// MarshalJSON returns the graph as one JSON object, with attributes in file order:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// A dimension of -1 is decided at run time. A dtype that is unknown to package tensor is the file's
// code, a missing one is "". A tensor among the attributes is its dtype and shape.
func (g *Graph) MarshalJSON() ([]byte, error) { return marshal(g) }

// MarshalJSON returns the node as it is in the result of Graph.MarshalJSON.
func (n Node) MarshalJSON() ([]byte, error) { return marshal(n) }

// MarshalJSON returns an object with name, dtype and shape.
func (v ValueInfo) MarshalJSON() ([]byte, error) { return marshal(v) }

// MarshalJSON returns the symbol if there is one, and else the number. A symbol that is a number
// too large for Size becomes a JSON number.
func (d Dim) MarshalJSON() ([]byte, error) { return marshal(d) }

// jsonText writes metadata and graphs as JSON.
type jsonText struct{ jsontext.Writer }

// marshal returns a value as JSON.
func marshal(v any) ([]byte, error) {
	j := &jsonText{jsontext.Writer{Replace: true}}
	j.value(v)
	return j.Done()
}

// value appends a part of a graph, or a value of any type that Entry or Attribute allows.
func (j *jsonText) value(v any) {
	switch x := v.(type) {
	case Metadata:
		j.object(x)
	case *Graph:
		if x == nil {
			j.Raw("null")
			return
		}
		j.object(Metadata{{"name", x.Name}, {"inputs", x.Inputs}, {"outputs", x.Outputs}, {"nodes", x.Nodes}})
	case Node:
		j.node(x)
	case ValueInfo:
		dtype := x.Code
		if x.DType.Valid() {
			dtype = x.DType.String()
		}
		j.object(Metadata{{"name", x.Name}, {"dtype", dtype}, {"shape", x.Dims}})
	case Dim:
		j.dim(x)
	case tensor.View:
		j.object(Metadata{{"dtype", x.DType().String()}, {"shape", []int64(x.Shape())}})
	case []ValueInfo:
		list(j, x)
	case []Node:
		list(j, x)
	case []Dim:
		list(j, x)
	case []tensor.View:
		list(j, x)
	case []*Graph:
		list(j, x)
	default:
		if !j.Value(v) {
			j.Fail(fmt.Errorf("%w: a value of type %s", tensor.ErrUnsupported, TypeName(v)))
		}
	}
}

func list[T any](j *jsonText, all []T) { jsontext.List(&j.Writer, all, func(v T) { j.value(v) }) }

func (j *jsonText) object(members Metadata) {
	j.Raw("{")
	for i, m := range members {
		j.Key(i, m.Key)
		j.value(m.Value)
	}
	j.Raw("}")
}

func (j *jsonText) node(n Node) {
	members := Metadata{{"name", n.Name}, {"op", n.Op}}
	if n.Domain != "" {
		members = append(members, Entry{"domain", n.Domain})
	}
	var attributes Metadata
	for _, a := range n.Attributes {
		attributes = append(attributes, Entry{a.Name, a.Value})
	}
	j.object(append(members, Entry{"inputs", n.Inputs}, Entry{"outputs", n.Outputs}, Entry{"attributes", attributes}))
}

func (j *jsonText) dim(d Dim) {
	n, err := strconv.ParseUint(d.Symbol, 10, 64)
	switch {
	case err == nil && n > math.MaxInt64:
		j.Raw(strconv.FormatUint(n, 10))
	case d.Symbol != "":
		j.Text(d.Symbol)
	default:
		j.Int(d.Size)
	}
}
