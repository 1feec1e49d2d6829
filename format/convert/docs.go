package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
)

// followDocs gives docs the new names of tensors, and the new indices of what the graph lists by
// name. Docs of what is gone go with it. before is the graph of the source, and names has the new
// names of tensors by the old ones.
func (j *job) followDocs(before *schema.Graph, names map[string]string) {
	p := j.plan.schema
	if len(p.Docs) == 0 {
		return
	}
	p.Docs = followTensors(p.Docs, j.plan.byName(), names)
	after := p.Graph
	if after == nil {
		return
	}
	lists := []struct {
		path          string
		before, after []string
	}{
		{"graph.inputs", valueNames(before.Inputs), valueNames(after.Inputs)},
		{"graph.outputs", valueNames(before.Outputs), valueNames(after.Outputs)},
		{"graph.initializers", slices.Clone(before.Initializers), after.Initializers},
	}
	for _, l := range lists {
		rename(l.before, names)
		if slices.Equal(l.before, l.after) {
			continue
		}
		indices := make(map[string]int, len(l.after))
		for i, name := range slices.Backward(l.after) { // the first of equal names counts
			indices[name] = i
		}
		p.Docs = schema.Renumber(p.Docs, l.path, func(old int) int {
			i, isThere := indices[l.before[old]]
			if !isThere {
				return -1
			}
			return i
		})
	}
	if innerInitializers(before) != innerInitializers(after) {
		p.Docs = slices.DeleteFunc(p.Docs, func(d schema.Doc) bool {
			isInner := strings.HasPrefix(d.Path, "graph.nodes[")
			return isInner && strings.Contains(d.Path, ".initializers[")
		})
	}
}

// followTensors gives docs the new names of tensors.
func followTensors(
	docs []schema.Doc, items map[string]*item, names map[string]string,
) []schema.Doc {
	byPath := make(map[string]string, len(names)) // new names by the old paths
	for old, name := range names {
		if items[name] != nil {
			byPath[tensorPath(old)] = name
		}
	}
	var out []schema.Doc
	for _, d := range docs {
		if strings.HasPrefix(d.Path, "tensor ") {
			name, isThere := byPath[d.Path]
			if !isThere {
				continue
			}
			d.Path = tensorPath(name)
			d.Name = name
		}
		out = append(out, d)
	}
	return out
}

// tensorPath returns the path of a tensor in docs.
func tensorPath(name string) string { return fmt.Sprintf("tensor %q", name) }

// valueNames returns the names of inputs or outputs.
func valueNames(list []schema.ValueInfo) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.Name
	}
	return names
}

// innerInitializers counts the initializers of the graphs in a graph.
func innerInitializers(g *schema.Graph) int {
	n := -len(g.Initializers)
	g.Walk(func(g *schema.Graph) { n += len(g.Initializers) })
	return n
}
