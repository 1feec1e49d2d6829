package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

type graphReport struct {
	Name    string        `json:"name"`
	Inputs  []valueReport `json:"inputs"`
	Outputs []valueReport `json:"outputs"`
	Nodes   []nodeReport  `json:"nodes"`
}

type valueReport struct {
	Name  string       `json:"name"`
	DType string       `json:"dtype"`
	Shape []format.Dim `json:"shape"`
}

type nodeReport struct {
	Name       string     `json:"name"`
	Op         string     `json:"op"`
	Domain     string     `json:"domain,omitempty"`
	Inputs     []string   `json:"inputs"`
	Outputs    []string   `json:"outputs"`
	Attributes attributes `json:"attributes"`
}

// attributes prints as one JSON object in file order.
type attributes []format.Attribute

func describeGraph(g *format.Graph) *graphReport {
	if g == nil {
		return nil
	}
	r := &graphReport{Name: g.Name, Inputs: describeValues(g.Inputs), Outputs: describeValues(g.Outputs), Nodes: []nodeReport{}}
	for _, n := range g.Nodes {
		r.Nodes = append(r.Nodes, nodeReport{
			Name: n.Name, Op: n.Op, Domain: n.Domain,
			Inputs: append([]string{}, n.Inputs...), Outputs: append([]string{}, n.Outputs...),
			Attributes: n.Attributes,
		})
	}
	return r
}

func describeValues(values []format.ValueInfo) []valueReport {
	out := []valueReport{}
	for _, v := range values {
		r := valueReport{Name: v.Name, Shape: append([]format.Dim{}, v.Dims...)}
		if v.DType.Valid() {
			r.DType = v.DType.String()
		}
		out = append(out, r)
	}
	return out
}

// MarshalJSON keeps the order of the file.
func (a attributes) MarshalJSON() ([]byte, error) {
	var m format.Metadata
	for _, at := range a {
		m = append(m, format.Entry{Key: at.Name, Value: attributeValue(at.Value)})
	}
	return m.MarshalJSON()
}

// attributeValue replaces tensors by their description and graphs by their
// report.
func attributeValue(v any) any {
	switch x := v.(type) {
	case tensor.View:
		return map[string]any{"dtype": x.DType().String(), "shape": append([]int64{}, x.Shape()...)}
	case []tensor.View:
		list := []any{}
		for _, t := range x {
			list = append(list, attributeValue(t))
		}
		return list
	case *format.Graph:
		return describeGraph(x)
	case []*format.Graph:
		list := []any{}
		for _, g := range x {
			list = append(list, describeGraph(g))
		}
		return list
	}
	return v
}

// tableGraph prints a graph for people, one node a line.
func tableGraph(out io.Writer, g *graphReport) {
	fmt.Fprintf(out, "\ngraph %s: %s\n", printable(fmt.Sprintf("%q", g.Name)), count(len(g.Nodes), "node"))
	for _, v := range g.Inputs {
		fmt.Fprintf(out, "  input  %s\n", value(v))
	}
	for _, v := range g.Outputs {
		fmt.Fprintf(out, "  output %s\n", value(v))
	}
	for _, n := range g.Nodes {
		attrs, err := n.Attributes.MarshalJSON()
		if err != nil || bytes.Equal(attrs, []byte("{}")) {
			attrs = nil
		}
		line := fmt.Sprintf("%s(%s) -> %s %s", n.Op, strings.Join(n.Inputs, ", "), strings.Join(n.Outputs, ", "), short(json.RawMessage(attrs)))
		if attrs == nil {
			line = strings.TrimSuffix(line, " null")
		}
		fmt.Fprintf(out, "  %s\n", printable(line))
	}
}

func value(v valueReport) string {
	var dims []string
	for _, d := range v.Shape {
		text, _ := d.MarshalJSON()
		dims = append(dims, strings.Trim(string(text), `"`))
	}
	return printable(fmt.Sprintf("%s %s[%s]", v.Name, v.DType, strings.Join(dims, ",")))
}
