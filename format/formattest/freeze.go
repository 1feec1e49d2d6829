package formattest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// frozen returns a copy of a graph whose tensors outlive the model.
func frozen(g *format.Graph) (*format.Graph, error) {
	if g == nil {
		return nil, nil
	}
	c := *g
	c.Nodes = slices.Clone(g.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Attributes = slices.Clone(n.Attributes)
		for j := range n.Attributes {
			v, err := frozenValue(n.Attributes[j].Value)
			if err != nil {
				return nil, err
			}
			n.Attributes[j].Value = v
		}
	}
	return &c, nil
}

// frozenValue is frozen for the value of an attribute.
func frozenValue(v any) (any, error) {
	switch v := v.(type) {
	case tensor.View:
		return v.Clone()
	case []tensor.View:
		return frozenList(v, tensor.View.Clone)
	case *format.Graph:
		return frozen(v)
	case []*format.Graph:
		return frozenList(v, frozen)
	}
	return v, nil
}

func frozenList[T any](list []T, f func(T) (T, error)) ([]T, error) {
	out := make([]T, len(list))
	for i := range list {
		var err error
		if out[i], err = f(list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// clonePlan copies a plan with all its text, so that it shares no memory with
// the file it was read from.
func clonePlan(p *format.Plan) *format.Plan {
	c := &format.Plan{Metadata: cloneMetadata(p.Metadata), Tensors: slices.Clone(p.Tensors), Graph: cloneGraph(p.Graph)}
	for i := range c.Tensors {
		t := &c.Tensors[i]
		t.Name, t.Compression, t.Shape = strings.Clone(t.Name), strings.Clone(t.Compression), t.Shape.Clone()
		if t.Quant != nil {
			q := *t.Quant
			q.Scales, q.ZeroPoints = slices.Clone(q.Scales), slices.Clone(q.ZeroPoints)
			t.Quant = &q
		}
	}
	return c
}

func cloneMetadata(m format.Metadata) format.Metadata {
	var c format.Metadata
	for _, e := range m {
		c = append(c, format.Entry{Key: strings.Clone(e.Key), Value: cloneValue(e.Value)})
	}
	return c
}

func cloneGraph(g *format.Graph) *format.Graph {
	if g == nil {
		return nil
	}
	c := &format.Graph{
		Name: strings.Clone(g.Name), Inputs: cloneList(g.Inputs, cloneInfo), Outputs: cloneList(g.Outputs, cloneInfo),
		Initializers: cloneStrings(g.Initializers),
	}
	for _, n := range g.Nodes {
		c.Nodes = append(c.Nodes, format.Node{
			Name: strings.Clone(n.Name), Op: strings.Clone(n.Op), Domain: strings.Clone(n.Domain),
			Inputs: cloneStrings(n.Inputs), Outputs: cloneStrings(n.Outputs),
			Attributes: cloneList(n.Attributes, func(a format.Attribute) format.Attribute {
				return format.Attribute{Name: strings.Clone(a.Name), Value: cloneValue(a.Value)}
			}),
		})
	}
	return c
}

func cloneInfo(v format.ValueInfo) format.ValueInfo {
	v.Name, v.Code = strings.Clone(v.Name), strings.Clone(v.Code)
	v.Dims = cloneList(v.Dims, func(d format.Dim) format.Dim { return format.Dim{Size: d.Size, Symbol: strings.Clone(d.Symbol)} })
	return v
}

// cloneValue copies what metadata and attributes hold. Views are the model's.
func cloneValue(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Clone(v)
	case json.Number:
		return json.Number(strings.Clone(string(v)))
	case json.RawMessage:
		return slices.Clone(v)
	case []int64:
		return slices.Clone(v)
	case []int32:
		return slices.Clone(v)
	case []float32:
		return slices.Clone(v)
	case []float64:
		return slices.Clone(v)
	case []string:
		return cloneStrings(v)
	case *format.Graph:
		return cloneGraph(v)
	case []*format.Graph:
		return cloneList(v, cloneGraph)
	}
	return v
}

func cloneStrings(list []string) []string { return cloneList(list, strings.Clone) }

func cloneList[T any](list []T, f func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}
