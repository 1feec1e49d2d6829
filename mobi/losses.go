package mobi

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// addTensors describes the constants, uncompressed, sets the flags that follow from them, and lists
// what records cannot hold.
func (d *document) addTensors() {
	d.losses.DTypes(d.Schema, "MOBI", dtypes[:])
	for i := range d.Tensors {
		t := &d.Tensors[i]
		d.stored[i].size = t.Size
		if t.Quant != nil {
			d.model.flags |= FlagQuantized
		}
		if t.DType == tensor.Float16 {
			d.model.flags |= FlagFloat16
		}
		if err := checkCount("rank", len(t.Shape)); err != nil {
			d.losses.Fixed(schema.LossShape, t.Name, err)
		}
	}
}

// graphLosses lists what operators and specs cannot hold of the graph, and returns its operators,
// nil if the graph is lost.
func (d *document) graphLosses() []Operator {
	g := d.Graph
	if g.Name != "" && d.model.name != "" && g.Name != d.model.name {
		d.label("graph name", "the metadata has another name, and a file has only one")
	}
	d.losses.Initializers(d.Schema, "MOBI cannot store it")
	d.specLosses("input", g.Inputs)
	d.specLosses("output", g.Outputs)
	for i := range g.Nodes {
		d.nodeLosses(i, &g.Nodes[i])
	}
	if d.losses.HasGraph() {
		return nil
	}
	ops := each(g.Nodes, d.operator)
	constants := sorted(slices.Clone(d.ids))
	entering, leaving := dangling(ops, func(id uint32) bool { return in(constants, id) })
	d.findable("input", g.Inputs, entering)
	d.findable("output", g.Outputs, leaving)
	if d.losses.HasGraph() {
		return nil
	}
	return ops
}

func (d *document) label(what, why string) { d.losses.Converted(schema.LossLabel, what, why) }

// specLosses lists the losses of inputs or outputs.
func (d *document) specLosses(kind string, values []schema.ValueInfo) {
	for _, v := range values {
		var err error
		if v.Dims == nil {
			err = fmt.Errorf("%w: MOBI records the shape of inputs and outputs, which is not known here", format.ErrUnsupported)
		}
		for i, dim := range v.Dims {
			if dim.Size < schema.DynamicDim {
				err = fmt.Errorf("%w: dim %d", format.ErrShape, dim.Size)
			} else if dim.Symbol != "" && neutralDim(fileDim(dim)).Symbol == "" {
				d.label(fmt.Sprintf("%s dim %d (%s)", v.Name, i, dim.Symbol), "MOBI has no symbolic dims")
			}
		}
		if _, isTensor := d.constants[v.Name]; isTensor && kind == "input" {
			err = fmt.Errorf("%w: a tensor has the same name", format.ErrUnsupported)
		}
		if err != nil {
			d.losses.Graph(fmt.Sprintf("%s %q", kind, v.Name), err)
		}
		if _, ok := TypeOf(v.DType); v.DType.Valid() && !ok {
			d.losses.Converted(schema.LossValue, v.Name, fmt.Sprintf("MOBI has no code for %v", v.DType))
		}
	}
}

// nodeLosses lists the losses of node i and its attributes.
func (d *document) nodeLosses(i int, n *schema.Node) {
	err := checkCount("number of inputs or outputs", max(len(n.Inputs), len(n.Outputs)))
	if _, ok := ParseOpType(n.Op); !ok || n.Domain != "" {
		err = fmt.Errorf("%w: operator %q of domain %q", format.ErrUnsupported, n.Op, n.Domain)
	} else if slices.Contains(n.Inputs, "") || slices.Contains(n.Outputs, "") {
		err = fmt.Errorf("%w: an input or output without a name", format.ErrUnsupported)
	}
	if err != nil {
		d.losses.Graph(fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err)
	}
	if n.Name != "" {
		d.label(fmt.Sprintf("nodes[%d] name (%s)", i, n.Name), "MOBI has no names of operators")
	}
	for j, a := range n.Attributes {
		err := appendParam(new(wire.Buffer), paramOf(a))
		if err == nil && d.misread(n, a.Name) {
			err = fmt.Errorf("%w: it would be read as the quantization of a constant that has none", format.ErrUnsupported)
		}
		if err != nil {
			d.losses.Attribute(d.Schema, i, j, err)
		}
	}
}

// misread reports whether readers would take an attribute for the quantization of a
// constant that has none.
func (d *document) misread(n *schema.Node, attr string) bool {
	input, ok := quantParam(attr)
	if !ok || input >= len(n.Inputs) {
		return false
	}
	i, ok := d.constants[n.Inputs[input]]
	return ok && d.Tensors[i].Quant == nil
}

// findable checks that readers will assign to values the ids they have.
func (d *document) findable(kind string, values []schema.ValueInfo, ids []uint32) {
	for i, v := range values {
		id, used := d.byName[v.Name]
		if used && (len(ids) != len(values) || ids[i] != id) {
			d.losses.Graph(fmt.Sprintf("%s %q", kind, v.Name), errUnfindable)
		}
	}
}

var errUnfindable = fmt.Errorf("%w: MOBI does not store the ids of inputs and outputs; readers find them only if the graph consumes all inputs, and exactly the outputs are produced but not consumed", format.ErrUnsupported)
