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

// renaming returns a function for contract.Values and contract.Names that renames values.
func renaming(names map[string]string) func(*string) {
	return func(s *string) {
		if name, ok := names[*s]; ok {
			*s = name
		}
	}
}
