package mobi

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// numbering gives the names of a plan ids. Names that are numbers keep them;
// others get the lowest free ones: constants first, then the inputs of the graph,
// the values between operators in the order in which they appear, and the outputs
// last. So a reader, who knows only ids, finds inputs and outputs in the order of
// their specs.
type numbering struct {
	ids   []uint32 // of the constants, by plan index
	byKey map[string]uint32
	// constants has the plan index of a tensor's name, if there is a graph.
	constants map[string]int
	used      map[uint32]bool
	free      uint64 // no id below is free
	given     bool   // all names of tensors are numbers, and there is no graph
}

// newNumbering numbers the tensors and the edges of g, which may be nil.
func newNumbering(tensors []tensor.Info, g *format.Graph) (*numbering, error) {
	if ids, ok := numbered(tensors); ok && g == nil {
		return &numbering{ids: ids, given: true}, nil
	}
	n := &numbering{ids: make([]uint32, len(tensors)), constants: make(map[string]int, len(tensors)), byKey: map[string]uint32{}, used: map[uint32]bool{}}
	e := edgesOf(g)
	for i, t := range tensors {
		n.keep(t.Name)
		n.constants[t.Name] = i
	}
	for _, s := range e.between {
		n.keep(s)
	}
	var err error
	for i, t := range tensors {
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

// numbered returns the ids of tensors whose names are numbers, all of them: names
// that differ are then different numbers.
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
func edgesOf(g *format.Graph) *edges {
	e := &edges{kind: map[string]edgeKind{}}
	if g == nil {
		return e
	}
	var all []string
	for _, node := range g.Nodes {
		for _, list := range [][]string{node.Inputs, node.Outputs} {
			for _, s := range list {
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
	return e
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

// operators translates the nodes of g. It also returns the ids in which a reader
// will look for the inputs and outputs of the graph, of which the file keeps none.
func (n *numbering) operators(g *format.Graph) (ops []Operator, entering, leaving []uint32) {
	ops = make([]Operator, len(g.Nodes))
	for i := range g.Nodes {
		ops[i] = n.operator(&g.Nodes[i])
	}
	constants := make(map[uint32]bool, len(n.ids))
	for _, id := range n.ids {
		constants[id] = true
	}
	var consumed, produced []uint32
	for i := range ops {
		consumed, produced = append(consumed, ops[i].Inputs...), append(produced, ops[i].Outputs...)
	}
	entering, leaving = dangling(sorted(consumed), sorted(produced), func(id uint32) bool { return constants[id] })
	return ops, entering, leaving
}

// dangling returns, ascending, the ids that operators consume and nothing
// defines, and those that operators produce and none consumes. Both lists are
// ascending and have no id twice.
func dangling(consumed, produced []uint32, isConstant func(uint32) bool) (entering, leaving []uint32) {
	for i, k := 0, 0; i < len(consumed) || k < len(produced); {
		switch {
		case k == len(produced) || i < len(consumed) && consumed[i] < produced[k]:
			if !isConstant(consumed[i]) {
				entering = append(entering, consumed[i])
			}
			i++
		case i == len(consumed) || produced[k] < consumed[i]:
			leaving = append(leaving, produced[k])
			k++
		default:
			i, k = i+1, k+1
		}
	}
	return entering, leaving
}
