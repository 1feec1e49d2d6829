package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/inspect"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// change holds the lines that occur in only one of two texts.
type change struct{ a, b []string }

func (c change) empty() bool { return len(c.a)+len(c.b) == 0 }

// write prints a change like diff -u, with a limited number of lines of each side.
func (c change) write(p *inspect.Lines, title string) {
	if c.empty() {
		return
	}
	fmt.Fprintln(p.Out)
	p.Line("%s", title)
	for _, part := range []struct {
		sign  string
		lines []string
	}{{"-", c.a}, {"+", c.b}} {
		const most = 40
		for _, line := range part.lines[:min(most, len(part.lines))] {
			p.Line("  %s %s", part.sign, line)
		}
		if rest := len(part.lines) - most; rest > 0 {
			p.Line("  %s … and %s more", part.sign, cli.Grouped(rest))
		}
	}
}

// compareSets compares two multisets of lines.
func compareSets(a, b []string) change {
	count := map[string]int{}
	for _, line := range b {
		count[line]++
	}
	var c change
	for _, line := range a {
		if count[line]--; count[line] < 0 {
			c.a = append(c.a, line)
		}
	}
	// The remaining counts are the lines only in b; of equal lines, take the last.
	for _, line := range slices.Backward(b) {
		if count[line] > 0 {
			count[line]--
			c.b = append(c.b, line)
		}
	}
	slices.Reverse(c.b)
	return c
}

// compareLists finds the differing section between the common prefix and suffix.
func compareLists(a, b []string) change {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	return change{a, b}
}

// userMetadata returns the metadata that are not of the format: values have their types in formats
// of strings too, and there are no names of tensors.
func userMetadata(m *modelfile.NamedModel) (schema.Metadata, error) {
	p, err := m.Schema()
	if err != nil {
		return nil, err
	}
	if err := m.RestoreNames(p); err != nil {
		return nil, err
	}
	return p.Metadata, nil
}

// withoutOwn removes the entries that ONNX needs for its graph, if other does not have them.
func withoutOwn(m, other schema.Metadata) schema.Metadata {
	return slices.DeleteFunc(slices.Clone(m), func(e schema.Entry) bool {
		_, there := other.Get(e.Key)
		return isOwn(e) && !there
	})
}

// isOwn reports whether an entry says how ONNX's graph is to be read.
func isOwn(e schema.Entry) bool {
	switch e.Value.(type) {
	case json.RawMessage:
		return e.Key == "opsets"
	case int64:
		return e.Key == "ir_version"
	}
	return false
}

// metadataLines returns a line per entry, "epoch = 7".
func metadataLines(meta schema.Metadata) []string {
	var all []string
	for _, e := range meta {
		text, err := cli.JSON(schema.Metadata{e}) // handles NaN
		if err != nil {
			text = fmt.Sprint(e.Value)
		}
		key, _ := cli.JSON(e.Key)
		value := strings.TrimSuffix(strings.TrimPrefix(text, "{"+key+":"), "}")
		all = append(all, e.Key+" = "+value)
	}
	return all
}

// graphLines returns a line for each significant part of the graph, or none without a graph.
func graphLines(m *modelfile.NamedModel) ([]string, error) {
	g, err := m.FoldedGraph()
	if g == nil || err != nil {
		return nil, err
	}
	return graphText(g)
}

func graphText(g *schema.Graph) ([]string, error) {
	name := g.Name
	if name == "graph" {
		name = "" // what ONNX files have that need a name
	}
	all := []string{strings.TrimSpace("graph " + name)}
	for _, v := range g.Inputs {
		all = append(all, "input "+inspect.Value(v))
	}
	for _, v := range g.Outputs {
		all = append(all, "output "+inspect.Value(v))
	}
	for i := range g.Nodes {
		line, err := nodeText(&g.Nodes[i])
		if err != nil {
			return nil, err
		}
		all = append(all, line)
	}
	return all, nil
}

// nodeText formats a node; the order of attributes is not significant.
func nodeText(n *schema.Node) (string, error) {
	line := fmt.Sprintf("%s(%s) -> %s", n.Op, strings.Join(n.Inputs, ", "),
		strings.Join(n.Outputs, ", "))
	if n.Domain != "" {
		line = n.Domain + "." + line
	}
	if n.Name != "" {
		line = n.Name + ": " + line
	}
	sorted := slices.SortedFunc(slices.Values(n.Attributes),
		func(a, b schema.Attribute) int { return cmp.Compare(a.Name, b.Name) })
	for _, a := range sorted {
		text, err := attributeText(a.Value)
		if err != nil {
			return "", err
		}
		line += " " + a.Name + "=" + text
	}
	return line, nil
}

// attributeText formats an attribute; a tensor as a digest of its data.
func attributeText(v any) (string, error) {
	var parts []string
	add := func(text string, err error) error {
		parts = append(parts, text)
		return err
	}
	var err error
	switch v := v.(type) {
	case *schema.Graph:
		err = add(subgraphText(v))
	case []*schema.Graph:
		for _, g := range v {
			err = add(subgraphText(g))
			if err != nil {
				break
			}
		}
	case tensor.View:
		err = add(digestText(v))
	case []tensor.View:
		for _, t := range v {
			err = add(digestText(t))
			if err != nil {
				break
			}
		}
	default:
		text, err := cli.JSON(v)
		if err != nil {
			text = fmt.Sprint(v) // a number that JSON cannot represent
		}
		return text, nil
	}
	return "(" + strings.Join(parts, "; ") + ")", err
}

func subgraphText(g *schema.Graph) (string, error) {
	all, err := graphText(g)
	return "{" + strings.Join(all, "; ") + "}", err
}

func digestText(v tensor.View) (string, error) {
	sum, err := v.Digest()
	return fmt.Sprintf("%s xxh64 %016x", inspect.TensorType(v), sum), err
}
