package mle

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Descriptor is one tensor of the graph: a constant with data, or a
// placeholder for a value that exists when the model runs.
type Descriptor struct {
	Name   string
	DType  tensor.DType // Invalid when the code is unknown, which only a placeholder's may be
	Code   uint8        // dtype code of the file
	Shape  tensor.Shape // dims as the file has them: 0 to 2^32-1
	Offset uint64       // of the data in the uncompressed weights; a placeholder's is kept, and means nothing
	Size   int64        // in bytes; 0 for placeholders
}

// Constant reports whether the tensor has data.
func (d *Descriptor) Constant() bool { return d.Size != 0 }

// IR is the graph as the file has it: ids are numbers, which usually count
// descriptors but in files from the field need not. Operators mean the same
// whatever the file's version, see Op.
type IR struct {
	Inputs, Outputs []uint32
	Tensors         []Descriptor
	Nodes           []IRNode
}

// IRNode is one operator of an IR.
type IRNode struct {
	Op                      Op
	Inputs, Outputs, Params []uint32
	Attributes              json.RawMessage // one JSON object, nil without
}

// ir decodes the graph section.
func (f *parsed) ir() *IR {
	g := &f.graph
	ir := &IR{Inputs: g.inputIDs(), Outputs: g.outputIDs(), Tensors: slices.Grow([]Descriptor(nil), g.tensors), Nodes: slices.Grow([]IRNode(nil), g.nodes)}
	for i := range g.tensors {
		d := g.descriptor(i)
		out := Descriptor{Name: string(f.name(nil, i)), DType: dtypeOf(d.code()), Code: d.code(),
			Shape: make(tensor.Shape, d.rank()), Offset: d.offset(), Size: int64(d.size())}
		d.shape(out.Shape)
		ir.Tensors = append(ir.Tensors, out)
	}
	// Nodes may share attributes, so they share the copy too.
	attrs := bytes.Clone(g.b[g.attrsAt:])
	for i := range g.nodes {
		n := g.node(i)
		var object json.RawMessage
		if size := n.attrSize(); size > 0 {
			object = attrs[int(n.attrOffset())-g.attrsAt:][:size:size]
		}
		ir.Nodes = append(ir.Nodes, IRNode{
			Op: opOfCode(n.code(), f.h.Version), Inputs: n.ids(nodeInputs), Outputs: n.ids(nodeOutputs),
			Params: n.ids(nodeParams), Attributes: object,
		})
	}
	return ir
}

// What is made of each thing in the graph section, an IR and the neutral graph
// together, in bytes.
const (
	descriptorBytes = 256 // and its name
	nodeBytes       = 104 + 120 + 64
	idBytes         = 4 + 16
	looseBytes      = 160 // an id that must be given a name
)

// cost returns about how many bytes Graph takes.
func (f *parsed) cost() int64 {
	g := &f.graph
	n := int64(g.tensors)*descriptorBytes + int64(len(f.meta)) + int64(g.nodes)*nodeBytes
	for i := range g.nodes {
		node := g.node(i)
		for list := range nodeLists {
			for k := range int(node.count(list)) {
				if n += idBytes; uint64(node.id(list, k)) >= uint64(g.tensors) {
					n += looseBytes
				}
			}
		}
	}
	for _, r := range g.ranges() {
		n += jsonmeta.Cost(g.b[r>>32:][:uint32(r)])
	}
	return n
}

// build runs f if the graph is not out of proportion to its section.
func (f *parsed) build(do func() error) error {
	n := f.cost()
	if err := f.memory.Build(n, f.h.Graph.Size+f.h.Metadata.Size); err != nil {
		return wire.Error(formatName, "graph", f.h.Graph.Offset, err)
	}
	defer f.memory.Release(n)
	return do()
}

// descriptorsByID tells which descriptor each id means. Usually that is the
// one of that index. In a file with an id that has no descriptor, the
// exporter numbered activations too without describing them: when the ids of
// graph inputs and params are as many as the descriptors, they are theirs, in
// ascending order.
func (ir *IR) descriptorsByID() map[uint32]int {
	beyond := false
	var used []uint32
	see := func(ids []uint32, named bool) {
		for _, id := range ids {
			beyond = beyond || uint64(id) >= uint64(len(ir.Tensors))
		}
		if named {
			used = append(used, ids...)
		}
	}
	see(ir.Inputs, true)
	see(ir.Outputs, false)
	for i := range ir.Nodes {
		see(ir.Nodes[i].Inputs, false)
		see(ir.Nodes[i].Outputs, false)
		see(ir.Nodes[i].Params, true)
	}
	byID := make(map[uint32]int, len(ir.Tensors))
	if beyond {
		slices.Sort(used)
		if used = slices.Compact(used); len(used) == len(ir.Tensors) {
			for i, id := range used {
				byID[id] = i
			}
			return byID
		}
	}
	for i := range ir.Tensors {
		byID[uint32(i)] = i
	}
	return byID
}

// namer gives ids their names.
type namer struct {
	ir    *IR
	byID  map[uint32]int
	taken map[string]bool
	loose map[uint32]string
}

func newNamer(ir *IR) *namer {
	n := &namer{ir: ir, taken: map[string]bool{}, loose: map[uint32]string{}}
	n.byID = ir.descriptorsByID()
	for i := range ir.Tensors {
		n.taken[ir.Tensors[i].Name] = true
	}
	return n
}

// name returns the descriptor's name, or "value_<id>" for an id that has none.
func (n *namer) name(id uint32) string {
	if i, ok := n.byID[id]; ok {
		return n.ir.Tensors[i].Name
	}
	if s, ok := n.loose[id]; ok {
		return s
	}
	s := "value_" + strconv.FormatUint(uint64(id), 10)
	for n.taken[s] {
		s += "_"
	}
	n.taken[s], n.loose[id] = true, s
	return s
}

func (n *namer) names(lists ...[]uint32) []string {
	size := 0
	for _, ids := range lists {
		size += len(ids)
	}
	if size == 0 {
		return nil
	}
	out := make([]string, 0, size)
	for _, ids := range lists {
		for _, id := range ids {
			out = append(out, n.name(id))
		}
	}
	return out
}

// values describes graph inputs or outputs.
func (n *namer) values(ids []uint32) []format.ValueInfo {
	var out []format.ValueInfo
	for _, id := range ids {
		v := format.ValueInfo{Name: n.name(id)}
		if i, ok := n.byID[id]; ok {
			d := &n.ir.Tensors[i]
			v.DType = d.DType
			for _, size := range d.Shape {
				if size == dynamicDim {
					size = format.DynamicDim
				}
				v.Dims = append(v.Dims, format.Dim{Size: size})
			}
		}
		out = append(out, v)
	}
	return out
}

// dynamicDim is how we write a dim of a placeholder that is not fixed.
const dynamicDim = math.MaxUint32

// Graph implements driver.Parsed. It returns nil for a graph that has neither nodes
// nor inputs nor outputs. A node's inputs are its input_ids followed by its param_ids.
func (f *parsed) Graph() (g *driver.Graph, err error) {
	err = f.build(func() (err error) {
		g, err = f.neutral(f.ir())
		return err
	})
	return g, err
}

// neutral translates a graph.
func (f *parsed) neutral(ir *IR) (g *driver.Graph, err error) {
	if len(ir.Nodes)+len(ir.Inputs)+len(ir.Outputs) == 0 {
		return nil, nil
	}
	n := newNamer(ir)
	g = &format.Graph{Inputs: n.values(ir.Inputs), Outputs: n.values(ir.Outputs)}
	shared := map[sharedText][]format.Attribute{}
	g.Nodes = slices.Grow(g.Nodes, len(ir.Nodes))
	for i := range ir.Nodes {
		from := &ir.Nodes[i]
		to := format.Node{Op: from.Op.String(), Inputs: n.names(from.Inputs, from.Params), Outputs: n.names(from.Outputs)}
		if len(from.Attributes) > 0 {
			at, seen := sharedText{&from.Attributes[0], len(from.Attributes)}, false
			if to.Attributes, seen = shared[at]; !seen {
				if to.Attributes, err = attributes(from.Attributes); err != nil {
					return nil, wire.Error(formatName, "attributes", -1, err)
				}
				shared[at] = to.Attributes
			}
		}
		g.Nodes = append(g.Nodes, to)
	}
	return g, nil
}
