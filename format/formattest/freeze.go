package formattest

import (
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// frozen returns a copy of a graph whose tensors remain valid after the model is closed.
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

// frozenValue copies the value of an attribute.
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
