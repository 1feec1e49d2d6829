package convert

import (
	"slices"

	"github.com/weightmap/weightmap/format"
)

// without reports which of the tensors that are gone a graph cannot do without. One
// that is an input as well was only its default.
func without(g *format.Graph, gone map[string]bool) (name string, ok bool) {
	input := make(map[string]bool)
	for _, v := range g.Inputs {
		input[v.Name] = true
	}
	values(g, func(s *string) {
		if !ok && gone[*s] && !input[*s] {
			name, ok = *s, true
		}
	})
	return name, ok
}

// forget takes tensors out of the lists of declared ones.
func forget(g *format.Graph, gone map[string]bool) {
	g.Initializers = slices.DeleteFunc(g.Initializers, func(s string) bool { return gone[s] })
	inner(g, func(g *format.Graph) { forget(g, gone) })
}

// rename changes the names of values.
func rename(g *format.Graph, names map[string]string) {
	change := func(s *string) {
		if name, ok := names[*s]; ok {
			*s = name
		}
	}
	values(g, change)
	initializers(g, change)
}

// values calls f with the names of all values that nodes and the graph's inputs and
// outputs mention, those of inner graphs too.
func values(g *format.Graph, f func(*string)) {
	for _, list := range [][]format.ValueInfo{g.Inputs, g.Outputs} {
		for i := range list {
			f(&list[i].Name)
		}
	}
	for _, n := range g.Nodes {
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for i := range list {
				f(&list[i])
			}
		}
	}
	inner(g, func(g *format.Graph) { values(g, f) })
}

// initializers calls f with the names of all declared tensors.
func initializers(g *format.Graph, f func(*string)) {
	for i := range g.Initializers {
		f(&g.Initializers[i])
	}
	inner(g, func(g *format.Graph) { initializers(g, f) })
}

// inner calls f with the graphs in the attributes of nodes.
func inner(g *format.Graph, f func(*format.Graph)) {
	for _, n := range g.Nodes {
		for _, a := range n.Attributes {
			switch v := a.Value.(type) {
			case *format.Graph:
				f(v)
			case []*format.Graph:
				for _, g := range v {
					f(g)
				}
			}
		}
	}
}

// clone copies all of a graph that names are in, which may share memory with the
// model that it is of.
func clone(g *format.Graph) *format.Graph {
	c := *g
	c.Inputs, c.Outputs = slices.Clone(g.Inputs), slices.Clone(g.Outputs)
	c.Initializers = slices.Clone(g.Initializers)
	c.Nodes = slices.Clone(g.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		n.Attributes = slices.Clone(n.Attributes)
		for k := range n.Attributes {
			switch v := n.Attributes[k].Value.(type) {
			case *format.Graph:
				n.Attributes[k].Value = clone(v)
			case []*format.Graph:
				list := make([]*format.Graph, len(v))
				for i, g := range v {
					list[i] = clone(g)
				}
				n.Attributes[k].Value = list
			}
		}
	}
	return &c
}
