package mobile

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// GraphJSON returns the operator graph as one JSON object, and an empty text for
// a file without one:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// Inputs of nodes name graph inputs, tensors of the model, or outputs of other
// nodes. A dim of -1 is decided at run time, a dtype that the file does not say
// is empty. Tensors among the attributes are shown by dtype and shape.
func (m *Model) GraphJSON() (string, error) {
	open, err := m.open()
	if err != nil {
		return "", err
	}
	g, ok := open.(format.Grapher)
	if !ok {
		return "", nil
	}
	graph, err := g.Graph()
	if err != nil || graph == nil {
		return "", err
	}
	text, err := json.Marshal(newGraph(graph))
	if err != nil {
		return "", m.fail("graph", err)
	}
	return string(text), nil
}

type jsonGraph struct {
	Name    string      `json:"name"`
	Inputs  []jsonInput `json:"inputs"`
	Outputs []jsonInput `json:"outputs"`
	Nodes   []jsonNode  `json:"nodes"`
}

type jsonInput struct {
	Name  string       `json:"name"`
	DType string       `json:"dtype"`
	Shape []format.Dim `json:"shape"`
}

type jsonNode struct {
	Name       string          `json:"name"`
	Op         string          `json:"op"`
	Domain     string          `json:"domain,omitempty"`
	Inputs     []string        `json:"inputs"`
	Outputs    []string        `json:"outputs"`
	Attributes format.Metadata `json:"attributes"` // for its order
}

func newGraph(g *format.Graph) *jsonGraph {
	out := &jsonGraph{Name: g.Name, Inputs: newInputs(g.Inputs), Outputs: newInputs(g.Outputs), Nodes: []jsonNode{}}
	for _, n := range g.Nodes {
		node := jsonNode{
			Name: n.Name, Op: n.Op, Domain: n.Domain,
			Inputs: append([]string{}, n.Inputs...), Outputs: append([]string{}, n.Outputs...),
		}
		for _, a := range n.Attributes {
			node.Attributes = append(node.Attributes, format.Entry{Key: a.Name, Value: attribute(a.Value)})
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}

func newInputs(values []format.ValueInfo) []jsonInput {
	out := []jsonInput{}
	for _, v := range values {
		in := jsonInput{Name: v.Name, Shape: append([]format.Dim{}, v.Dims...)}
		if v.DType.Valid() {
			in.DType = v.DType.String()
		}
		out = append(out, in)
	}
	return out
}

// attribute replaces what JSON has no form for.
func attribute(v any) any {
	switch x := v.(type) {
	case tensor.View:
		return map[string]any{"dtype": x.DType().String(), "shape": append([]int64{}, x.Shape()...)}
	case []tensor.View:
		return attributes(x)
	case *format.Graph:
		return newGraph(x)
	case []*format.Graph:
		return attributes(x)
	}
	return v
}

func attributes[T any](list []T) []any {
	out := []any{}
	for _, v := range list {
		out = append(out, attribute(v))
	}
	return out
}
