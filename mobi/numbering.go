package mobi

import (
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// numbering gives the names of a plan ids. Names that are numbers keep them;
// others get the lowest free ones: constants first (if the caller allows it),
// then the inputs of the graph, the values between operators in the order in
// which they appear, and the outputs last. So a reader, who knows only ids,
// finds inputs and outputs in the order of their specs.
type numbering struct {
	ids   []uint32 // of the constants, by plan index
	byKey map[string]uint32
	used  map[uint32]bool
	free  uint64 // no id below is free
}

// newNumbering numbers the tensors and the edges of g.
func newNumbering(tensors []tensor.Info, g *format.Graph, assign bool) (*numbering, error) {
	n := &numbering{ids: make([]uint32, len(tensors)), byKey: map[string]uint32{}, used: map[uint32]bool{}}
	e, err := edgesOf(g)
	if err != nil {
		return nil, err
	}
	for _, t := range tensors {
		n.keep(t.Name)
	}
	for _, s := range e.between {
		n.keep(s)
	}
	for i, t := range tensors {
		if _, ok := n.byKey[t.Name]; !ok && !assign {
			err = fmt.Errorf("%w: MOBI names tensors by ids, decimal numbers up to %d", format.ErrUnsupported, uint32(math.MaxUint32))
		} else if e.kind[t.Name] == edgeInput {
			err = fmt.Errorf("%w: an input of the graph has the same name", format.ErrUnsupported)
		}
		if err != nil {
			return nil, planError(fmt.Sprintf("tensor %q", t.Name), err)
		}
		if n.ids[i], err = n.number(t.Name); err != nil {
			return nil, err
		}
	}
	for _, names := range [][]string{e.inputs, e.between, e.outputs} {
		for _, s := range names {
			if _, err := n.number(s); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// keep gives a name that is a number that id.
func (n *numbering) keep(s string) {
	if id, ok := parseDecimal(s, 32); ok {
		n.byKey[s] = uint32(id)
		n.used[uint32(id)] = true
	}
}

// number returns the id of a name, the lowest free one if it has none yet.
func (n *numbering) number(s string) (uint32, error) {
	if id, ok := n.byKey[s]; ok {
		return id, nil
	}
	for n.free <= math.MaxUint32 && n.used[uint32(n.free)] {
		n.free++
	}
	if n.free > math.MaxUint32 {
		return 0, planError("ids", fmt.Errorf("%w: none is free", format.ErrLimit))
	}
	id := uint32(n.free)
	n.byKey[s], n.used[id] = id, true
	return id, nil
}

// edges are the names that nodes use, each once: inputs and outputs of the
// graph in its order, the others as they appear.
type edges struct {
	inputs, between, outputs []string
	kind                     map[string]edgeKind
}

type edgeKind uint8

const (
	edgeBetween edgeKind = iota + 1
	edgeInput
	edgeOutput
)

// edgesOf returns the edges of g.
func edgesOf(g *format.Graph) (*edges, error) {
	e := &edges{kind: map[string]edgeKind{}}
	var all []string
	for i, node := range g.Nodes {
		for _, list := range [][]string{node.Inputs, node.Outputs} {
			for _, s := range list {
				if s == "" {
					return nil, planError(fmt.Sprintf("node %d", i), fmt.Errorf("%w: an input or output without a name", format.ErrUnsupported))
				}
				if e.kind[s] == 0 {
					e.kind[s] = edgeBetween
					all = append(all, s)
				}
			}
		}
	}
	e.inputs = e.mark(g.Inputs, edgeInput)
	e.outputs = e.mark(g.Outputs, edgeOutput)
	for _, s := range all {
		if e.kind[s] == edgeBetween {
			e.between = append(e.between, s)
		}
	}
	return e, nil
}

// mark tells the edges among values apart and returns them.
func (e *edges) mark(values []format.ValueInfo, kind edgeKind) (names []string) {
	for _, v := range values {
		if e.kind[v.Name] == edgeBetween {
			e.kind[v.Name] = kind
			names = append(names, v.Name)
		}
	}
	return names
}

// operators translates the nodes of g and makes sure that a reader will find
// the inputs and outputs of the graph, of which the file keeps no ids.
func (n *numbering) operators(g *format.Graph) ([]Operator, error) {
	ops := make([]Operator, len(g.Nodes))
	for i := range g.Nodes {
		op, err := n.operator(&g.Nodes[i])
		if err != nil {
			return nil, planError(fmt.Sprintf("node %d (%s)", i, g.Nodes[i].Op), err)
		}
		ops[i] = op
	}
	constants := make(map[uint32]bool, len(n.ids))
	for _, id := range n.ids {
		constants[id] = true
	}
	entering, leaving := dangling(ops, func(id uint32) bool { return constants[id] })
	if err := n.findable("input", g.Inputs, entering); err != nil {
		return nil, err
	}
	return ops, n.findable("output", g.Outputs, leaving)
}

// findable checks that the ids a reader will take for values are theirs.
func (n *numbering) findable(kind string, values []format.ValueInfo, ids []uint32) error {
	for i, v := range values {
		id, used := n.byKey[v.Name]
		if used && (len(ids) != len(values) || ids[i] != id) {
			err := fmt.Errorf("%w: MOBI keeps no ids of inputs and outputs; readers recognise them only when all inputs are consumed, and all outputs produced and not consumed, and nothing else is", format.ErrUnsupported)
			return planError(fmt.Sprintf("graph %s %q", kind, v.Name), err)
		}
	}
	return nil
}

// dangling returns, ascending, the ids that operators consume and nothing
// defines, and those that operators produce and none consumes.
func dangling(ops []Operator, isConstant func(uint32) bool) (entering, leaving []uint32) {
	const consumed, produced = 1, 2
	seen := map[uint32]uint8{}
	for i := range ops {
		for _, id := range ops[i].Inputs {
			seen[id] |= consumed
		}
		for _, id := range ops[i].Outputs {
			seen[id] |= produced
		}
	}
	for id, how := range seen {
		switch {
		case how == consumed && !isConstant(id):
			entering = append(entering, id)
		case how == produced:
			leaving = append(leaving, id)
		}
	}
	slices.Sort(entering)
	slices.Sort(leaving)
	return entering, leaving
}
