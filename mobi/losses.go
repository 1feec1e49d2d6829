package mobi

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/wire"
)

// tensorLosses lists what records cannot hold of the tensors.
func tensorLosses(p *plan.Plan, l *plan.LossList) {
	l.DTypes(p, "MOBI", dtypes[:])
	for i := range p.Tensors {
		if err := checkCount("rank", len(p.Tensors[i].Shape)); err != nil {
			l.Fixed(plan.LossShape, p.Tensors[i].Name, err)
		}
	}
}

// graphLosses lists what operators and specs cannot hold of a neutral graph.
type graphLosses struct {
	*numbering
	p *plan.Plan
	l *plan.LossList
}

// find lists the losses and returns the operators of the graph, nil if the graph is
// lost.
func (g graphLosses) find(model string) []Operator {
	n := g.p.Graph
	if n.Name != "" && model != "" && n.Name != model {
		g.label("graph name", "a file has one name, and the metadata has another")
	}
	g.l.Initializers(g.p, "MOBI cannot hold it")
	g.specs("input", n.Inputs)
	g.specs("output", n.Outputs)
	for i := range n.Nodes {
		g.node(i)
	}
	if g.l.HasGraph() {
		return nil
	}
	ops := g.operators(n)
	constants := sorted(slices.Clone(g.ids))
	entering, leaving := dangling(ops, func(id uint32) bool { return in(constants, id) })
	g.findable("input", n.Inputs, entering)
	g.findable("output", n.Outputs, leaving)
	if g.l.HasGraph() {
		return nil
	}
	return ops
}

func (g graphLosses) label(what, why string) { g.l.Converted(plan.LossLabel, what, why) }

// specs lists the losses of inputs or outputs.
func (g graphLosses) specs(kind string, values []format.ValueInfo) {
	for _, v := range values {
		var err error
		if v.Dims == nil {
			err = fmt.Errorf("%w: MOBI records the shape of inputs and outputs, which is not known here", format.ErrUnsupported)
		}
		for i, d := range v.Dims {
			if d.Size < format.DynamicDim {
				err = fmt.Errorf("%w: dim %d", format.ErrShape, d.Size)
			} else if d.Symbol != "" && neutralDim(fileDim(d)).Symbol == "" {
				g.label(fmt.Sprintf("%s dim %d (%s)", v.Name, i, d.Symbol), "MOBI has no symbolic dims")
			}
		}
		if _, isTensor := g.constants[v.Name]; isTensor && kind == "input" {
			err = fmt.Errorf("%w: a tensor has the same name", format.ErrUnsupported)
		}
		if err != nil {
			g.l.Graph(fmt.Sprintf("%s %q", kind, v.Name), err)
		}
		if _, ok := TypeOf(v.DType); v.DType.Valid() && !ok {
			g.l.Converted(plan.LossValue, v.Name, fmt.Sprintf("MOBI has no code for %v", v.DType))
		}
	}
}

// node lists the losses of a node and its attributes.
func (g graphLosses) node(i int) {
	n := &g.p.Graph.Nodes[i]
	if err := checkNode(n); err != nil {
		g.l.Graph(fmt.Sprintf("nodes[%d] (%s)", i, n.Op), err)
	}
	if n.Name != "" {
		g.label(fmt.Sprintf("nodes[%d] name (%s)", i, n.Name), "MOBI has no names of operators")
	}
	for j, a := range n.Attributes {
		param, c := paramOf(a), coder{w: new(wire.Buffer)}
		c.codeParam(&param)
		err := c.refusal()
		if err == nil && g.misread(n, a.Name) {
			err = fmt.Errorf("%w: it would be read as the quantization of a constant that has none", format.ErrUnsupported)
		}
		if err != nil {
			g.l.Attribute(g.p, i, j, err)
		}
	}
}

// checkNode refuses nodes that cannot be operators.
func checkNode(n *format.Node) error {
	if _, ok := ParseOpType(n.Op); !ok || n.Domain != "" {
		return fmt.Errorf("%w: operator %q of domain %q", format.ErrUnsupported, n.Op, n.Domain)
	}
	if slices.Contains(n.Inputs, "") || slices.Contains(n.Outputs, "") {
		return fmt.Errorf("%w: an input or output without a name", format.ErrUnsupported)
	}
	return checkCount("number of inputs or outputs", max(len(n.Inputs), len(n.Outputs)))
}

// misread reports whether readers would take an attribute for the quantization of a
// constant that has none.
func (g graphLosses) misread(n *format.Node, attr string) bool {
	input, _, ok := quantParam(attr)
	if !ok || input >= len(n.Inputs) {
		return false
	}
	i, ok := g.constants[n.Inputs[input]]
	return ok && g.p.Tensors[i].Quant == nil
}

// findable checks that readers will assign to values the ids they have.
func (g graphLosses) findable(kind string, values []format.ValueInfo, ids []uint32) {
	for i, v := range values {
		id, used := g.byName[v.Name]
		if used && (len(ids) != len(values) || ids[i] != id) {
			g.l.Graph(fmt.Sprintf("%s %q", kind, v.Name), errUnfindable)
		}
	}
}

var errUnfindable = fmt.Errorf("%w: MOBI does not store the ids of inputs and outputs; readers find them only if the graph consumes all inputs, and exactly the outputs are produced but not consumed", format.ErrUnsupported)
