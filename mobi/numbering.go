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
func newNumbering(tensors []tensor.Info, g *format.Graph) numbering {
	n := numbering{ids: make([]uint32, len(tensors)), byName: map[string]uint32{}, constants: map[string]int{}}
	numbered := g == nil
	for i := range tensors {
		id, ok := parseDecimal(tensors[i].Name, 32)
		n.ids[i], numbered = uint32(id), numbered && ok
	}
	if numbered {
		return n // without maps, writing 10,000 small tensors takes half the time
	}
	g = cmp.Or(g, new(format.Graph))
	rank := map[string]int{} // of inputs below 0, of outputs above
	for i, v := range g.Outputs {
		rank[v.Name] = i + 1
	}
	for i, v := range g.Inputs {
		rank[v.Name] = i - len(g.Inputs)
	}
	var names, values []string
	for i, t := range tensors {
		names, n.constants[t.Name] = append(names, t.Name), i
	}
	for _, node := range g.Nodes {
		values = append(append(values, node.Inputs...), node.Outputs...)
	}
	slices.SortStableFunc(values, func(a, b string) int { return rank[a] - rank[b] })
	names = append(names, values...)
	used, free := make(map[uint32]bool, len(tensors)), uint32(0)
	for _, s := range names {
		_, isConstant := n.constants[s]
		if id, ok := parseDecimal(s, 32); ok && (isConstant || rank[s] == 0) {
			n.byName[s], used[uint32(id)] = uint32(id), true
		}
	}
	for _, s := range names {
		if _, ok := n.byName[s]; !ok {
			for used[free] {
				free++
			}
			n.byName[s], used[free] = free, true
		}
	}
	for i := range n.ids {
		n.ids[i] = n.byName[names[i]]
	}
	return n
}

// operator returns a node of the graph as an operator.
func (n *numbering) operator(node format.Node) Operator {
	id := func(s string) uint32 { return n.byName[s] }
	op := Operator{Inputs: each(node.Inputs, id), Outputs: each(node.Outputs, id), Params: each(node.Attributes, paramOf)}
	op.Type, _ = ParseOpType(node.Op)
	return op
}
