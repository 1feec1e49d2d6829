package mobi

import (
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// numbering assigns ids to the names in a schema. Names that are numbers keep them.
// The others get the lowest free ids: constants first, then the inputs of the graph,
// the values between operators in order of appearance, and the outputs. So readers,
// which see only ids, find inputs and outputs in the order of their specs.
type numbering struct {
	ids       []uint32 // of the constants, by index in the schema
	byName    map[string]uint32
	constants map[string]int // indices in the schema, by tensor name
}

// newNumbering numbers the tensors and the edges of g, which may be nil.
func newNumbering(tensors []tensor.Info, g *schema.Graph) numbering {
	n := numbering{ids: make([]uint32, len(tensors)), byName: map[string]uint32{}, constants: map[string]int{}}
	taken := make([]uint32, 0, len(tensors))
	for i := range tensors {
		if id, ok := parseDecimal(tensors[i].Name, 32); ok {
			n.ids[i] = uint32(id)
			taken = append(taken, uint32(id))
		}
	}
	var values []string
	if g != nil && len(g.Nodes)+len(g.Inputs)+len(g.Outputs) > 0 { // without maps, writing 10,000 small tensors takes half the time
		for i := range tensors {
			n.constants[tensors[i].Name] = i
		}
		values = n.values(g, &taken)
	} else if len(taken) == len(tensors) {
		return n
	}
	slices.Sort(taken)
	free := uint32(0)
	next := func() uint32 {
		for ; len(taken) > 0 && taken[0] <= free; taken = taken[1:] {
			free = max(free, taken[0]+1)
		}
		free++
		return free - 1
	}
	for i := range tensors {
		if _, ok := parseDecimal(tensors[i].Name, 32); !ok {
			n.ids[i] = next()
		}
	}
	for _, s := range values {
		if _, ok := n.byName[s]; !ok {
			n.byName[s] = next()
		}
	}
	for name, i := range n.constants {
		n.byName[name] = n.ids[i]
	}
	return n
}

// values returns the edges of g that are no constants, inputs first and outputs last. It adds the
// ids that the names of the others stand for to taken.
func (n *numbering) values(g *schema.Graph, taken *[]uint32) (values []string) {
	rank := map[string]int{} // of inputs below 0, of outputs above
	for i, v := range g.Outputs {
		rank[v.Name] = i + 1
	}
	for i, v := range g.Inputs {
		rank[v.Name] = i - len(g.Inputs)
	}
	for _, node := range g.Nodes {
		values = append(append(values, node.Inputs...), node.Outputs...)
	}
	values = slices.DeleteFunc(values, func(s string) bool { _, is := n.constants[s]; return is })
	slices.SortStableFunc(values, func(a, b string) int { return rank[a] - rank[b] })
	for _, s := range values {
		if id, ok := parseDecimal(s, 32); ok && rank[s] == 0 {
			n.byName[s] = uint32(id)
			*taken = append(*taken, uint32(id))
		}
	}
	return values
}

// operator returns a node of the graph as an operator.
func (n *numbering) operator(node schema.Node) Operator {
	id := func(s string) uint32 { return n.byName[s] }
	op := Operator{Inputs: each(node.Inputs, id), Outputs: each(node.Outputs, id), Params: each(node.Attributes, paramOf)}
	op.Type, _ = ParseOpType(node.Op)
	return op
}
