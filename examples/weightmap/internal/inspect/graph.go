package inspect

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// graph prints a graph as text, one node per line.
func (p *Lines) graph(g *schema.Graph) {
	fmt.Fprintln(p.Out)
	p.Line("%s", graphName(g))
	for _, v := range g.Inputs {
		p.Line("  input  %s", Value(v))
	}
	for _, v := range g.Outputs {
		p.Line("  output %s", Value(v))
	}
	for _, n := range g.Nodes {
		line := fmt.Sprintf("  %s(%s) -> %s", n.Op, cli.List(n.Inputs, p.Width),
			cli.List(n.Outputs, p.Width))
		for _, a := range n.Attributes {
			line += fmt.Sprintf(" %s=%s", a.Name, attribute(a.Value, 100))
			if len(line) > 32*p.Width {
				break // it would not fit
			}
		}
		p.Line("%s", line)
	}
}

// graphName formats a graph as "graph else, 3 nodes".
func graphName(g *schema.Graph) string {
	name := "graph"
	if g.Name != "" {
		name += " " + g.Name
	}
	return name + ", " + cli.Count(len(g.Nodes), "node")
}

// attribute formats a value in at most width columns; graphs and tensors only by type.
func attribute(v any, width int) string {
	var parts []string
	switch v := v.(type) {
	case *schema.Graph:
		return "(" + graphName(v) + ")"
	case []*schema.Graph:
		for _, g := range v {
			parts = append(parts, graphName(g))
		}
	case tensor.View:
		return TensorType(v)
	case []tensor.View:
		for _, t := range v {
			parts = append(parts, TensorType(t))
		}
	default:
		return short(v, width)
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

// TensorType formats a tensor's type as "float32[2,3]".
func TensorType(v tensor.View) string {
	info := v.Info()
	return info.TypeName() + dims(info.Shape)
}

// Value formats a graph input or output as "x float32[1,batch]". Unknown parts are left out; an
// unnamed dynamic dim is "?".
func Value(v schema.ValueInfo) string {
	dtype := v.Code
	if v.DType.Valid() {
		dtype = v.DType.String()
	}
	if dtype == "" && len(v.Dims) == 0 {
		return v.Name
	}
	var dims []string
	for _, d := range v.Dims {
		switch {
		case d.Symbol != "":
			dims = append(dims, d.Symbol)
		case d.Size == schema.DynamicDim:
			dims = append(dims, "?")
		default:
			dims = append(dims, fmt.Sprint(d.Size))
		}
	}
	return fmt.Sprintf("%s %s[%s]", v.Name, dtype, strings.Join(dims, ","))
}
