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
	n := numbering{
		ids:       make([]uint32, len(tensors)),
		byName:    map[string]uint32{},
		constants: map[string]int{},
	}
	var free freeIDs
	var unnumbered []int
	for i := range tensors {
		id, ok := parseDecimal(tensors[i].Name, 32)
		if !ok {
			unnumbered = append(unnumbered, i)
			continue
		}
		n.ids[i] = uint32(id)
		free.taken = append(free.taken, uint32(id))
	}
	var values []string
	if g != nil && len(g.Nodes)+len(g.Inputs)+len(g.Outputs) > 0 {
		// Without these maps, writing 10,000 small tensors takes half the time.
		for i := range tensors {
			n.constants[tensors[i].Name] = i
		}
		values = n.values(g)
		for _, id := range n.byName {
			free.taken = append(free.taken, id)
		}
	}
	if len(unnumbered)+len(values) > 0 {
		slices.Sort(free.taken)
	}
	for _, i := range unnumbered {
		n.ids[i] = free.next()
	}
	for _, s := range values {
		_, ok := n.byName[s]
		if !ok {
			n.byName[s] = free.next()
		}
	}
	for name, i := range n.constants {
		n.byName[name] = n.ids[i]
	}
	return n
}

// freeIDs are the ids that are not taken, in ascending order.
type freeIDs struct {
	taken []uint32 // ascending
	after uint32   // all free ids below it are used
}

// next uses the lowest free id.
func (f *freeIDs) next() uint32 {
	for len(f.taken) > 0 && f.taken[0] <= f.after {
		f.after = max(f.after, f.taken[0]+1)
		f.taken = f.taken[1:]
	}
	f.after++
	return f.after - 1
}

// values returns the edges of g that are no constants, inputs first and outputs last. Of those that
// are numbers it sets the ids.
func (n *numbering) values(g *schema.Graph) (values []string) {
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
	values = slices.DeleteFunc(values, func(s string) bool {
		_, isConstant := n.constants[s]
		return isConstant
	})
	slices.SortStableFunc(values, func(a, b string) int { return rank[a] - rank[b] })
	for _, s := range values {
		id, ok := parseDecimal(s, 32)
		if ok && rank[s] == 0 {
			n.byName[s] = uint32(id)
		}
	}
	return values
}

// operator returns a node of the graph as an operator.
func (n *numbering) operator(node schema.Node) Operator {
	id := func(s string) uint32 { return n.byName[s] }
	code, _ := ParseOpType(node.Op)
	return Operator{
		Type:    code,
		Inputs:  each(node.Inputs, id),
		Outputs: each(node.Outputs, id),
		Params:  each(node.Attributes, paramOf),
	}
}
