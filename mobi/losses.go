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
	d.losses.DTypes(d.schema, "MOBI", dtypes[:])
	for i := range d.schema.Tensors {
		t := &d.schema.Tensors[i]
		d.stored[i].size = t.Size
		if t.Quant != nil {
			d.model.flags |= FlagQuantized
		}
		if t.DType == tensor.Float16 {
			d.model.flags |= FlagFloat16
		}
		err := checkCount("rank", len(t.Shape))
		if err != nil {
			d.losses.Fixed(schema.LossShape, t.Name, err)
		}
	}
}

// graphLosses lists what operators and specs cannot hold of the graph, and returns its operators,
// nil if the graph is lost.
func (d *document) graphLosses() []Operator {
	g := d.schema.Graph
	if g.Name != "" && d.model.name != "" && g.Name != d.model.name {
		d.label("graph name", "the metadata has another name, and a file has only one")
	}
	d.losses.Initializers(d.schema, "MOBI cannot store it")
	d.specLosses("input", g.Inputs)
	d.specLosses("output", g.Outputs)
	for i := range g.Nodes {
		d.nodeLosses(i, &g.Nodes[i])
	}
	if d.losses.HasGraph() {
		return nil
	}
	ops := each(g.Nodes, d.numbering.operator)
	constants := sorted(slices.Clone(d.numbering.ids))
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
		err := checkDims(v.Dims)
		_, isTensor := d.numbering.constants[v.Name]
		if isTensor && kind == "input" {
			err = fmt.Errorf("%w: a tensor has the same name", format.ErrUnsupported)
		}
		if err != nil {
			d.losses.Graph(fmt.Sprintf("%s %q", kind, v.Name), err)
		}
		for i, dim := range v.Dims {
			if dim.Symbol != "" && dim.Size >= schema.DynamicDim && neutralDim(fileDim(dim)).Symbol == "" {
				d.label(fmt.Sprintf("%s dim %d (%s)", v.Name, i, dim.Symbol), "MOBI has no symbolic dims")
			}
		}
		_, ok := TypeOf(v.DType)
		if v.DType.Valid() && !ok {
			d.losses.Converted(schema.LossValue, v.Name, fmt.Sprintf("MOBI has no code for %v", v.DType))
		}
	}
}

// checkDims refuses dims that a spec cannot hold.
func checkDims(dims []schema.Dim) error {
	if dims == nil {
		return fmt.Errorf("%w: MOBI records the shape of inputs and outputs, which is not known here",
			format.ErrUnsupported)
	}
	for _, dim := range dims {
		if dim.Size < schema.DynamicDim {
			return fmt.Errorf("%w: dim %d", format.ErrShape, dim.Size)
		}
	}
	return nil
}

// nodeLosses lists the losses of node i and its attributes.
func (d *document) nodeLosses(i int, n *schema.Node) {
	err := checkNode(n)
	if err != nil {
		d.losses.Graph(fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err)
	}
	if n.Name != "" {
		d.label(fmt.Sprintf("nodes[%d] name (%s)", i, n.Name), "MOBI has no names of operators")
	}
	for j, a := range n.Attributes {
		err := d.checkAttribute(n, a)
		if err != nil {
			d.losses.Attribute(d.schema, i, j, err)
		}
	}
}

// checkNode refuses a node that is no operator of the format.
func checkNode(n *schema.Node) error {
	_, ok := ParseOpType(n.Op)
	if !ok || n.Domain != "" {
		return fmt.Errorf("%w: operator %q of domain %q", format.ErrUnsupported, n.Op, n.Domain)
	}
	if slices.Contains(n.Inputs, "") || slices.Contains(n.Outputs, "") {
		return fmt.Errorf("%w: an input or output without a name", format.ErrUnsupported)
	}
	return checkCount("number of inputs or outputs", max(len(n.Inputs), len(n.Outputs)))
}

// checkAttribute refuses an attribute that is no parameter, or that would be misread.
func (d *document) checkAttribute(n *schema.Node, a schema.Attribute) error {
	err := appendParam(new(wire.Buffer), paramOf(a))
	if err != nil {
		return err
	}
	if d.misread(n, a.Name) {
		return fmt.Errorf("%w: it would be read as the quantization of a constant that has none",
			format.ErrUnsupported)
	}
	return nil
}

// misread reports whether readers would take an attribute for the quantization of a
// constant that has none.
func (d *document) misread(n *schema.Node, attr string) bool {
	input, ok := quantParam(attr)
	if !ok || input >= len(n.Inputs) {
		return false
	}
	i, ok := d.numbering.constants[n.Inputs[input]]
	return ok && d.schema.Tensors[i].Quant == nil
}

// findable checks that readers will assign to values the ids they have.
func (d *document) findable(kind string, values []schema.ValueInfo, ids []uint32) {
	for i, v := range values {
		id, used := d.numbering.byName[v.Name]
		if used && (len(ids) != len(values) || ids[i] != id) {
			d.losses.Graph(fmt.Sprintf("%s %q", kind, v.Name), errUnfindable)
		}
	}
}

var errUnfindable = fmt.Errorf("%w: MOBI does not store the ids of inputs and outputs; "+
	"readers find them only if the graph consumes all inputs, "+
	"and exactly the outputs are produced but not consumed", format.ErrUnsupported)
