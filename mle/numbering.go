package mle

import (
	"encoding/json"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// irBuilder numbers the values of a neutral graph as it meets them: inputs of
// the graph, then of each node inputs, params and outputs. Exporters do the
// same, so their ids survive a copy. Tensors keep the plan's order: one that
// is met brings along those before it.
type irBuilder struct {
	version   uint32
	tensors   []tensor.Info
	index     map[string]int // of tensors, by name
	next      int            // the first of tensors without a number
	ids       map[string]uint32
	inputs    map[string]bool // of the graph: never params, even with data
	described map[uint32]bool // placeholders whose dtype and shape the graph gave
	objects   map[sharedList]json.RawMessage
	ir        *IR
}

// sharedList is which attributes a node has, which it may share with others: a file can
// have a megabyte of them in as many nodes as it likes.
type sharedList struct {
	first *format.Attribute
	n     int
}

func newIRBuilder(tensors []tensor.Info, version uint32) *irBuilder {
	b := &irBuilder{version: version, tensors: tensors, index: make(map[string]int, len(tensors)),
		ids: make(map[string]uint32, len(tensors)), inputs: map[string]bool{}, described: map[uint32]bool{}, objects: map[sharedList]json.RawMessage{}, ir: &IR{}}
	for i := range tensors {
		b.index[tensors[i].Name] = i
	}
	return b
}

// constantsOnly is what a builder makes of a plan without a graph, which takes no names.
func constantsOnly(tensors []tensor.Info) *IR {
	b := &irBuilder{tensors: tensors, ir: &IR{Tensors: make([]Descriptor, 0, len(tensors))}}
	b.constants(len(tensors))
	return b.ir
}

func (b *irBuilder) add(d Descriptor) uint32 {
	id := uint32(len(b.ir.Tensors))
	if b.ids != nil {
		b.ids[d.Name] = id
	}
	b.ir.Tensors = append(b.ir.Tensors, d)
	return id
}

// constants numbers the first n tensors of the plan.
func (b *irBuilder) constants(n int) {
	for ; b.next < n; b.next++ {
		t := &b.tensors[b.next]
		code, _ := dtypeCode(t.DType)
		b.add(Descriptor{Name: t.Name, DType: t.DType, Code: code, Shape: t.Shape, Size: t.Size})
	}
}

// id returns the number of a value, which becomes a placeholder of unknown
// dtype and shape when it is not known yet. field says in errors where it is
// used.
func (b *irBuilder) id(field, name string) (uint32, error) {
	if i, ok := b.index[name]; ok {
		b.constants(i + 1)
	}
	if id, ok := b.ids[name]; ok {
		return id, nil
	}
	if err := tensor.CheckName(name); err != nil {
		return 0, refuse(field, err, "value %q", name)
	}
	return b.add(Descriptor{Name: name, Code: unknownDType}), nil
}

func (b *irBuilder) graph(g *format.Graph) (err error) {
	if b.ir.Inputs, err = b.values("graph inputs", g.Inputs); err != nil {
		return err
	}
	for _, v := range g.Inputs {
		b.inputs[v.Name] = true
	}
	for i := range g.Nodes {
		n, err := b.node(fmt.Sprintf("node %d", i), &g.Nodes[i])
		if err != nil {
			return err
		}
		b.ir.Nodes = append(b.ir.Nodes, n)
	}
	b.ir.Outputs, err = b.values("graph outputs", g.Outputs)
	return err
}

// values numbers the inputs or outputs of the graph.
func (b *irBuilder) values(field string, list []format.ValueInfo) ([]uint32, error) {
	if len(list) > maxIDs {
		return nil, refuse(field, format.ErrLimit, "%d, there is room for %d", len(list), maxIDs)
	}
	var ids []uint32
	for _, v := range list {
		id, err := b.id(field, v.Name)
		if err != nil {
			return nil, err
		}
		if d := &b.ir.Tensors[id]; !d.Constant() && !b.described[id] {
			if err := describe(field, d, v); err != nil {
				return nil, err
			}
			b.described[id] = true
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// describe gives a placeholder dtype and shape. A dtype without code is
// written as unknown.
func describe(field string, d *Descriptor, v format.ValueInfo) error {
	d.DType = v.DType
	d.Code, _ = dtypeCode(v.DType)
	if len(v.Dims) > maxRank {
		return refuse(field, format.ErrUnsupported, "value %q has rank %d, the most is %d", v.Name, len(v.Dims), maxRank)
	}
	for _, dim := range v.Dims {
		size := dim.Size
		if size == format.DynamicDim || dim.Symbol != "" {
			size = dynamicDim
		}
		if size < 0 || size > dynamicDim {
			return refuse(field, format.ErrUnsupported, "value %q: dim %d does not fit in 32 bits", v.Name, size)
		}
		d.Shape = append(d.Shape, size)
	}
	return nil
}

// node numbers the values of a node. field names it in errors.
func (b *irBuilder) node(field string, n *format.Node) (out IRNode, err error) {
	op, ok := opOf(n.Op, b.version)
	if !ok {
		return out, refuse(field, format.ErrUnsupported, "operator %q has no code in version %d", n.Op, b.version)
	}
	out.Op = op
	params := b.firstParam(op, n.Inputs)
	for _, part := range []struct {
		what  string
		names []string
		ids   *[]uint32
	}{{"inputs", n.Inputs[:params], &out.Inputs}, {"params", n.Inputs[params:], &out.Params}, {"outputs", n.Outputs, &out.Outputs}} {
		if len(part.names) > maxIDs {
			return out, refuse(field, format.ErrLimit, "%d %s of %s, there is room for %d", len(part.names), part.what, n.Op, maxIDs)
		}
		for _, name := range part.names {
			id, err := b.id(field, name)
			if err != nil {
				return out, err
			}
			*part.ids = append(*part.ids, id)
		}
	}
	out.Attributes, err = b.object(field, n.Attributes)
	return out, err
}

// object encodes attributes, those that nodes share once.
func (b *irBuilder) object(field string, attributes []format.Attribute) (json.RawMessage, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	of := sharedList{&attributes[0], len(attributes)}
	if object, ok := b.objects[of]; ok {
		return object, nil
	}
	object, err := encodeAttributes(field, attributes)
	if err == nil {
		b.objects[of] = object
	}
	return object, err
}

// firstParam returns where the params begin among what a node takes in: they
// are the constants at the end, as far as they are not graph inputs. Readers see
// params after inputs, so the order stays. Some operators have none.
func (b *irBuilder) firstParam(op Op, inputs []string) int {
	first := len(inputs)
	for ; first > 0 && !op.operandsOnly(); first-- {
		name := inputs[first-1]
		if _, constant := b.index[name]; !constant || b.inputs[name] {
			break
		}
	}
	return first
}
