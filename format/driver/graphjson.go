package driver

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/tensor"
)

// MarshalJSON writes the graph as one object, attributes in file order:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// A dim of -1 is decided at run time. An unknown dtype is the code the file has
// for it, one that the file does not say is empty. Tensors among the attributes are shown by dtype and shape.
func (g *Graph) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name    string      `json:"name"`
		Inputs  []ValueInfo `json:"inputs"`
		Outputs []ValueInfo `json:"outputs"`
		Nodes   []Node      `json:"nodes"`
	}{g.Name, list(g.Inputs), list(g.Outputs), list(g.Nodes)})
}

// MarshalJSON writes one node as Graph.MarshalJSON does, for whoever writes a large
// graph node by node.
func (n Node) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name       string   `json:"name"`
		Op         string   `json:"op"`
		Domain     string   `json:"domain,omitempty"`
		Inputs     []string `json:"inputs"`
		Outputs    []string `json:"outputs"`
		Attributes Metadata `json:"attributes"`
	}{n.Name, n.Op, n.Domain, list(n.Inputs), list(n.Outputs), attributeEntries(n.Attributes)})
}

// attributeEntries gives attributes the form that is written as one object.
func attributeEntries(attrs []Attribute) Metadata {
	var m Metadata
	for _, a := range attrs {
		m = append(m, Entry{Key: a.Name, Value: a.Value})
	}
	return m
}

// MarshalJSON writes name, dtype and shape.
func (v ValueInfo) MarshalJSON() ([]byte, error) {
	out := struct {
		Name  string `json:"name"`
		DType string `json:"dtype"`
		Shape []Dim  `json:"shape"`
	}{Name: v.Name, DType: v.Code, Shape: list(v.Dims)}
	if v.DType.Valid() {
		out.DType = v.DType.String()
	}
	return json.Marshal(out)
}

// MarshalJSON writes the symbol if there is one, else the number. A symbol that
// is a number too large for Size is written as a number.
func (d Dim) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseUint(d.Symbol, 10, 64); err == nil && n > math.MaxInt64 {
		return strconv.AppendUint(nil, n, 10), nil
	}
	if d.Symbol != "" {
		return json.Marshal(d.Symbol)
	}
	return strconv.AppendInt(nil, d.Size, 10), nil
}

// list makes a nil slice an empty one: [] in JSON, not null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// jsonValue replaces what encoding/json refuses, NaN and infinities, and what
// should not be written whole, tensors.
func jsonValue(v any) any {
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
	case float32:
		if wide := float64(x); math.IsNaN(wide) || math.IsInf(wide, 0) {
			return jsonValue(wide)
		}
	case []float64:
		return jsonValues(x)
	case []float32:
		return jsonValues(x)
	case tensor.View:
		return map[string]any{"dtype": x.DType().String(), "shape": list(x.Shape())}
	case []tensor.View:
		return jsonValues(x)
	}
	return v
}

func jsonValues[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = jsonValue(v)
	}
	return out
}
