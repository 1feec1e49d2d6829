package inspect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestHTMLBounds: a large model makes a page that a browser can show, and says what it
// leaves out.
func TestHTMLBounds(t *testing.T) {
	r := &report{Path: "m", Format: "x", Version: "1", Graph: &schema.Graph{}}
	for i := range 60_000 {
		r.Tensors = append(r.Tensors, tensorReport{Name: fmt.Sprintf("l%d.%d", i/100, i), DType: fmt.Sprintf("t%d", i%300), Shape: []int64{4}, Bytes: 4})
	}
	r.all = len(r.Tensors)
	for i := range 500 {
		r.Metadata = append(r.Metadata, schema.Entry{Key: fmt.Sprintf("k%d", i), Value: strings.Repeat("v", 10_000)})
	}
	wide := schema.Node{Op: "Concat", Outputs: []string{"z"}}
	for i := range 100_000 {
		r.Graph.Nodes = append(r.Graph.Nodes, schema.Node{Op: "Relu", Inputs: []string{fmt.Sprint(i), fmt.Sprint(i / 2)}, Outputs: []string{fmt.Sprint(i + 1)}})
		wide.Inputs = append(wide.Inputs, fmt.Sprint(i+1))
	}
	r.Graph.Nodes[0] = wide
	p, g := &page{}, draw(r.Graph, func(string) string { return "" })
	c := p.color(r)
	p.maps(r, c)
	p.rows(r, c)
	p.entries(r)
	for what, n := range map[string][2]int{
		"tiles": {len(p.Maps[0].Tiles), 10_000}, "tiles for phones": {len(p.Maps[2].Tiles), 3000}, "rows": {len(p.Rows), firstRows},
		"rows to search": {len(p.Table.Rows), mostRows}, "layers": {len(p.Layers), mostLayers}, "entries": {len(p.Metadata), mostEntries},
		"boxes": {len(g.Boxes), 3 * mostNodes}, "edges": {len(g.Edges), mostEdges}, "dtypes": {len(p.Types), mostEntries},
	} {
		if n[0] > n[1] || n[0] == 0 {
			t.Errorf("%d %s, at most %d", n[0], what, n[1])
		}
	}
	for want, got := range map[string]string{
		"The first 400 of 100,000 nodes are drawn.": g.Note, "The first 50,000 of 60,000 tensors are listed; -filter chooses others.": p.RowNote,
		"The first 200 of 500 entries are listed.": p.EntryNote,
	} {
		expect.Equal(t, want, got)
	}
	if len(p.Metadata[0][1]) > 2*longest {
		t.Error("a long value is not cut")
	}
}

// TestDrawCycle: the drawing of a cycle ends.
func TestDrawCycle(t *testing.T) {
	cycle := &schema.Graph{Nodes: []schema.Node{{Op: "A", Inputs: []string{"y", "x"}, Outputs: []string{"x"}}, {Op: "B", Inputs: []string{"x"}, Outputs: []string{"y"}}}}
	if d := draw(cycle, func(string) string { return "" }); len(d.Boxes) != 2 || len(d.Edges) != 3 {
		t.Errorf("%d boxes, %d edges", len(d.Boxes), len(d.Edges))
	}
}
