package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format/schema"
)

// TestWalk: Walk and Values reach the graphs in attributes, of one and of several, and Values can rename.
func TestWalk(t *testing.T) {
	leaf := &schema.Graph{Name: "leaf", Nodes: []schema.Node{{Inputs: []string{"x"}, Outputs: []string{"y"}}}}
	branch := &schema.Graph{Name: "branch", Outputs: []schema.ValueInfo{{Name: "z"}}}
	root := &schema.Graph{
		Name:   "root",
		Inputs: []schema.ValueInfo{{Name: "in"}},
		Nodes: []schema.Node{
			{Inputs: []string{"in"}, Attributes: []schema.Attribute{{Name: "body", Value: leaf}, {Name: "number", Value: int64(1)}}},
			{Outputs: []string{"out"}, Attributes: []schema.Attribute{{Name: "branches", Value: []*schema.Graph{branch, leaf}}}},
		},
	}
	for _, tt := range []struct {
		name           string
		graph          *schema.Graph
		graphs, values []string
	}{
		{"none", nil, nil, nil},
		{"one", branch, []string{"branch"}, []string{"z"}},
		{"nested", root, []string{"root", "leaf", "branch", "leaf"}, []string{"in", "in", "out", "x", "y", "z", "x", "y"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var graphs, values []string
			tt.graph.Walk(func(g *schema.Graph) { graphs = append(graphs, g.Name) })
			if diff := cmp.Diff(tt.graphs, graphs); diff != "" {
				t.Error(diff)
			}
			tt.graph.Values(func(name *string) { values = append(values, *name) })
			if diff := cmp.Diff(tt.values, values); diff != "" {
				t.Error(diff)
			}
		})
	}
	branch.Values(func(name *string) { *name += "'" })
	want := []schema.ValueInfo{{Name: "z'"}}
	if diff := cmp.Diff(want, branch.Outputs); diff != "" {
		t.Error(diff)
	}
}
