package convert

import (
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/contract"
)

// forget removes tensors from the lists of declared ones.
func forget(g *format.Graph, gone map[string]bool) {
	contract.Walk(g, func(g *format.Graph) {
		g.Initializers = slices.DeleteFunc(g.Initializers, func(s string) bool { return gone[s] })
	})
}

// renaming returns a function for values and each that renames values.
func renaming(names map[string]string) func(*string) {
	return func(s *string) {
		if name, ok := names[*s]; ok {
			*s = name
		}
	}
}

// values calls f with the name of every value that nodes and graph inputs and outputs refer to,
// including those in nested graphs.
func values(g *format.Graph, f func(*string)) {
	contract.Walk(g, func(g *format.Graph) {
		for i := range g.Inputs {
			f(&g.Inputs[i].Name)
		}
		for i := range g.Outputs {
			f(&g.Outputs[i].Name)
		}
		for _, n := range g.Nodes {
			each(n.Inputs, f)
			each(n.Outputs, f)
		}
	})
}

func each(list []string, f func(*string)) {
	for i := range list {
		f(&list[i])
	}
}
