package mobi

import (
	"fmt"
	"math"

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
	used      map[uint32]bool
	free      uint64 // no id below this is free
}

// newNumbering numbers the tensors and the edges of g, which may be nil.
func newNumbering(tensors []tensor.Info, g *format.Graph) (*numbering, error) {
	if g == nil {
		// This is ten times as fast as the general case.
		if ids, ok := numbered(tensors); ok {
			return &numbering{ids: ids}, nil
		}
		g = &format.Graph{}
	}
	n := &numbering{constants: make(map[string]int, len(tensors)), byName: make(map[string]uint32, len(tensors)), used: make(map[uint32]bool, len(tensors))}
	for i, t := range tensors {
		n.keep(t.Name)
		n.constants[t.Name] = i
	}
	ends := map[string]bool{}
	for _, values := range [][]format.ValueInfo{g.Inputs, g.Outputs} {
		for _, v := range values {
			ends[v.Name] = true
		}
	}
	edges := map[string]bool{}
	var between []string
	for _, node := range g.Nodes {
		for _, names := range [][]string{node.Inputs, node.Outputs} {
			for _, s := range names {
				if !edges[s] && !ends[s] {
					n.keep(s)
					between = append(between, s)
				}
				edges[s] = true
			}
		}
	}
	order := make([]string, 0, len(tensors)+len(edges))
	for _, t := range tensors {
		order = append(order, t.Name)
	}
	order = appendEdges(order, g.Inputs, edges)
	order = append(order, between...)
	order = appendEdges(order, g.Outputs, edges)
	for _, s := range order {
		if err := n.number(s); err != nil {
			return nil, err
		}
	}
	for _, t := range tensors {
		n.ids = append(n.ids, n.byName[t.Name])
	}
	return n, nil
}

// numbered returns the ids of tensors if all their names are numbers.
func numbered(tensors []tensor.Info) (ids []uint32, ok bool) {
	ids = make([]uint32, len(tensors))
	for i := range tensors {
		id, ok := parseDecimal(tensors[i].Name, 32)
		if !ok {
			return nil, false
		}
		ids[i] = uint32(id)
	}
	return ids, true
}

// appendEdges appends the names of those values that are edges.
func appendEdges(names []string, values []format.ValueInfo, edges map[string]bool) []string {
	for _, v := range values {
		if edges[v.Name] {
			names = append(names, v.Name)
		}
	}
	return names
}

// keep assigns to a name that is a number that number as its id.
func (n *numbering) keep(s string) {
	if id, ok := parseDecimal(s, 32); ok {
		n.byName[s], n.used[uint32(id)] = uint32(id), true
	}
}

// number assigns the lowest free id to a name, unless it has an id.
func (n *numbering) number(s string) error {
	if _, ok := n.byName[s]; ok {
		return nil
	}
	for n.free <= math.MaxUint32 && n.used[uint32(n.free)] {
		n.free++
	}
	if n.free > math.MaxUint32 {
		return planError("ids", fmt.Errorf("%w: none is free", format.ErrLimit))
	}
	n.byName[s], n.used[uint32(n.free)] = uint32(n.free), true
	return nil
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
