package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/weightmap/weightmap/format"
)

// tableGraph prints a graph for people, one node a line.
func tableGraph(out io.Writer, g *format.Graph) {
	fmt.Fprintf(out, "\ngraph %s: %s\n", printable(fmt.Sprintf("%q", g.Name)), count(len(g.Nodes), "node"))
	for _, v := range g.Inputs {
		fmt.Fprintf(out, "  input  %s\n", value(v))
	}
	for _, v := range g.Outputs {
		fmt.Fprintf(out, "  output %s\n", value(v))
	}
	for _, n := range g.Nodes {
		line := fmt.Sprintf("%s(%s) -> %s", n.Op, strings.Join(n.Inputs, ", "), strings.Join(n.Outputs, ", "))
		if len(n.Attributes) > 0 {
			var m format.Metadata
			for _, a := range n.Attributes {
				m = append(m, format.Entry{Key: a.Name, Value: a.Value})
			}
			line += " " + short(m)
		}
		fmt.Fprintf(out, "  %s\n", printable(line))
	}
}

// value shows a graph input or output: "x float32[1,batch]".
func value(v format.ValueInfo) string {
	dtype := v.Code
	if v.DType.Valid() {
		dtype = v.DType.String()
	}
	var dims []string
	for _, d := range v.Dims {
		text := d.Symbol
		if text == "" {
			text = fmt.Sprint(d.Size)
		}
		dims = append(dims, text)
	}
	return printable(fmt.Sprintf("%s %s[%s]", v.Name, dtype, strings.Join(dims, ",")))
}
