package mobi

import (
	"cmp"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// numbering assigns ids to the names in a plan. Names that are numbers keep them.
// The others get the lowest free ids: constants first, then the inputs of the graph,
// the values between operators in order of appearance, and the outputs. So readers,
// which see only ids, find inputs and outputs in the order of their specs.
type numbering struct {
	ids       []uint32 // of the constants, by plan index
	byName    map[string]uint32
	constants map[string]int // plan indices, by tensor name
}

// newNumbering numbers the tensors and the edges of g, which may be nil.
func newNumbering(tensors []tensor.Info, g *format.Graph) *numbering {
	n := &numbering{ids: make([]uint32, len(tensors)), byName: map[string]uint32{}, constants: map[string]int{}}
	numbered := g == nil
	for i := range tensors {
		id, ok := parseDecimal(tensors[i].Name, 32)
		n.ids[i], numbered = uint32(id), numbered && ok
	}
	if numbered {
		return n // without maps, writing 10,000 small tensors takes half the time
	}
	g = cmp.Or(g, new(format.Graph))
	ends, edges := map[string]bool{}, map[string]bool{}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		ends[v.Name] = true
	}
	var constants, between []string
	for i, t := range tensors {
		constants, n.constants[t.Name] = append(constants, t.Name), i
	}
	for _, node := range g.Nodes {
		for _, s := range slices.Concat(node.Inputs, node.Outputs) {
			if !edges[s] && !ends[s] {
				between = append(between, s)
			}
			edges[s] = true
		}
	}
	used, free := make(map[uint32]bool, len(tensors)), uint32(0)
	for _, s := range slices.Concat(constants, between) {
		if id, ok := parseDecimal(s, 32); ok {
			n.byName[s], used[uint32(id)] = uint32(id), true
		}
	}
	consumed := func(values []format.ValueInfo) (names []string) {
		for _, v := range values {
			if edges[v.Name] {
				names = append(names, v.Name)
			}
		}
		return names
	}
	for _, s := range slices.Concat(constants, consumed(g.Inputs), between, consumed(g.Outputs)) {
		if _, ok := n.byName[s]; !ok {
			for used[free] {
				free++
			}
			n.byName[s], used[free] = free, true
		}
	}
	for i, s := range constants {
		n.ids[i] = n.byName[s]
	}
	return n
}

// operators returns the nodes of g as operators.
func (n *numbering) operators(g *format.Graph) []Operator {
	ids := func(names []string) []uint32 {
		list := make([]uint32, len(names))
		for i, s := range names {
			list[i] = n.byName[s]
		}
		return list
	}
	ops := make([]Operator, len(g.Nodes))
	for i, node := range g.Nodes {
		op := Operator{Inputs: ids(node.Inputs), Outputs: ids(node.Outputs)}
		op.Type, _ = ParseOpType(node.Op)
		for _, a := range node.Attributes {
			op.Params = append(op.Params, paramOf(a))
		}
		ops[i] = op
	}
	return ops
}
