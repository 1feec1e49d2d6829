package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// documentedSchema has a part of every kind.
func documentedSchema() *Schema {
	sub := func() *Graph {
		return &Graph{Outputs: []ValueInfo{{Name: "o"}}, Nodes: []Node{{Op: "Relu"}}, Initializers: []string{"s"}}
	}
	return &Schema{
		Tensors: []tensor.Info{{Name: "w"}, {Name: `a "quoted" name`}},
		Graph: &Graph{
			Inputs: []ValueInfo{{Name: "x"}, {Name: "z"}}, Outputs: []ValueInfo{{Name: "y"}}, Initializers: []string{"w"},
			Nodes: []Node{{Op: "Relu"}, {Op: "If", Attributes: []Attribute{
				{"a", int64(1)}, {"b", sub()}, {"c", []*Graph{sub(), sub()}}, {"d", tensor.View{}}, {"e", []tensor.View{{}, {}}}, {"f", (*Graph)(nil)},
			}}},
		},
	}
}

// fitDocs fits a schema into a format that has a place for texts alone.
func fitDocs(p *Schema, accept ...string) (*Schema, error) {
	return Fit("toy", p, accept, func(p *Schema, l *LossList) error {
		l.Docs(func(*Doc) (text, properties bool) { return true, false })
		return nil
	})
}

// TestDocPaths: a doc is about a part of the schema.
func TestDocPaths(t *testing.T) {
	for path, ok := range map[string]bool{
		`tensor "w"`: true, `tensor "a \"quoted\" name"`: true, `tensor "v"`: true, "tensor w": false, "tensor `w`": false, `tensor "\x77"`: false, "tensor": false, "": false,
		"graph": true, "graph.": false, "graphs": false, "graph.name": false, "graph[0]": false,
		"graph.nodes[0]": true, "graph.nodes[1]": true, "graph.nodes[2]": false, "graph.nodes[-1]": false, "graph.nodes[+1]": false,
		"graph.nodes[01]": false, "graph.nodes[]": false, "graph.nodes[0": false, "graph.nodes": false, "graph.nodes[0].": false, "graph.nodes[0]x": false,
		"graph.nodes[99999999999999999999]": false, "nodes[0]": false,
		"graph.inputs[1]": true, "graph.inputs[2]": false, "graph.inputs[0].x": false, "graph.outputs[0]": true, "graph.outputs[1]": false, "graph.outputs[0][0]": false,
		"graph.initializers[0]": true, "graph.initializers[1]": false, "graph.initializers[0].t": false,
		"graph.nodes[0].attributes[0]": false, "graph.nodes[1].attributes[0]": true, "graph.nodes[1].attributes[5]": true, "graph.nodes[1].attributes[6]": false,
		"graph.nodes[1].attributes[0].g": false, "graph.nodes[1].attributes[0].t": false, "graph.nodes[1].inputs[0]": false,
		"graph.nodes[1].attributes[1].g": true, "graph.nodes[1].attributes[1].g.nodes[0]": true, "graph.nodes[1].attributes[1].g.nodes[1]": false,
		"graph.nodes[1].attributes[1].g.outputs[0]": true, "graph.nodes[1].attributes[1].g.initializers[0]": true, "graph.nodes[1].attributes[1].graphs[0]": false, "graph.nodes[1].attributes[1].gg": false,
		"graph.nodes[1].attributes[2].graphs[1].nodes[0]": true, "graph.nodes[1].attributes[2].graphs[2]": false, "graph.nodes[1].attributes[2].g": false,
		"graph.nodes[1].attributes[3].t": true, "graph.nodes[1].attributes[3].t.x": false, "graph.nodes[1].attributes[3].tensors[0]": false,
		"graph.nodes[1].attributes[4].tensors[1]": true, "graph.nodes[1].attributes[4].tensors[2]": false, "graph.nodes[1].attributes[4].tensors[0].t": false, "graph.nodes[1].attributes[4].t": false,
		"graph.nodes[1].attributes[5].g": false,
	} {
		p := documentedSchema()
		p.Docs = []Doc{{Path: path, Text: "t"}}
		_, err := fitDocs(p)
		if (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestStaleDocs: a program that drops a tensor or the graph need not drop their docs.
func TestStaleDocs(t *testing.T) {
	p := documentedSchema()
	p.Graph = nil
	w := Doc{Path: `tensor "w"`, Text: "w"}
	p.Docs = []Doc{{Path: "graph", Text: "g"}, {Path: "graph.nodes[0]", Text: "n"}, {Path: `tensor "gone"`, Text: "t"}, w}
	q, err := fitDocs(p)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Doc{w}, q.Docs); d != "" {
		t.Errorf("docs (-want +got)\n%s", d)
	}
	if len(p.Docs) != 4 {
		t.Errorf("the schema of the caller has %d docs", len(p.Docs))
	}
}

// TestBadDocs: the error names the doc.
func TestBadDocs(t *testing.T) {
	for _, c := range []struct {
		docs []Doc
		want string
	}{
		{[]Doc{{Path: "graph", Text: "\xff"}}, "docs[0]: invalid schema: invalid UTF-8"},
		{[]Doc{{Path: "graph"}, {Path: `tensor "w"`, Properties: [][2]string{{"k", "v"}, {"\xff", "v"}}}}, "docs[1]: invalid schema: invalid UTF-8"},
		{[]Doc{{Path: `tensor "w"`, Properties: [][2]string{{"k", "\xff"}}}}, "docs[0]: invalid schema: invalid UTF-8"},
		{[]Doc{{Path: "graph"}, {Path: "graph"}}, `docs[1]: invalid schema: a doc before it is about "graph" too`},
		{[]Doc{{Path: "graph.nodes[7]"}}, `docs[0]: invalid schema: the schema has no part "graph.nodes[7]"`},
		{[]Doc{{Path: "graph", Properties: make([][2]string, 1<<20)}, {Path: `tensor "w"`, Properties: make([][2]string, 1)}}, "docs[1]: invalid schema: limit exceeded: more than 1048576 properties"},
		{[]Doc{{Path: "\xff"}}, `docs[0]: invalid schema: the schema has no part "\xff"`},
	} {
		p := documentedSchema()
		p.Docs = c.docs
		_, err := fitDocs(p)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) || !errors.Is(err, tensor.ErrSchema) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestLostDocs: texts are one loss and properties another, of as many parts as have them.
func TestLostDocs(t *testing.T) {
	pairs := [][2]string{{"k", "v"}}
	docs := []Doc{
		{Path: "graph", Text: "t", Properties: pairs}, {Path: "graph.nodes[0]", Properties: pairs},
		{Path: `tensor "w"`, Text: "t"}, {Path: "graph.nodes[1]"},
	}
	for _, c := range []struct {
		name   string
		losses func(p *Schema, l *LossList) error
		lost   []string
		want   []Doc
	}{
		{"of a format without", func(*Schema, *LossList) error { return nil },
			[]string{"label doc_string: the format has no place for those of 2 parts, such as graph", "label properties: the format has no place for those of 2 parts, such as graph"}, nil},
		{"of a format with texts", func(_ *Schema, l *LossList) error {
			l.Docs(func(*Doc) (text, properties bool) { return true, false })
			return nil
		}, []string{"label properties: the format has no place for those of 2 parts, such as graph"}, []Doc{{Path: "graph", Text: "t"}, {Path: `tensor "w"`, Text: "t"}}},
		{"of a format with docs of tensors", func(_ *Schema, l *LossList) error {
			l.Docs(func(d *Doc) (text, properties bool) { return d.Path != "graph", d.Path != "graph" })
			return nil
		}, []string{"label doc_string: the format has no place for that of graph", "label properties: the format has no place for that of graph"},
			[]Doc{{Path: "graph.nodes[0]", Properties: pairs}, {Path: `tensor "w"`, Text: "t"}}},
		{"of a format without graphs", func(p *Schema, l *LossList) error {
			l.Docs(func(*Doc) (text, properties bool) { return true, true })
			l.AnyGraph(p, "the format has no graph")
			return nil
		}, []string{"graph: the format has no graph"}, []Doc{{Path: `tensor "w"`, Text: "t"}}},
	} {
		p := documentedSchema()
		p.Docs = docs
		_, err := Fit("toy", p, nil, c.losses)
		var refused *LossError
		if !errors.As(err, &refused) {
			t.Fatalf("%s: %v", c.name, err)
		}
		var lost []string
		for _, l := range refused.Losses {
			lost = append(lost, l.Part()+": "+l.Why)
		}
		if d := cmp.Diff(c.lost, lost); d != "" {
			t.Errorf("%s: losses (-want +got)\n%s", c.name, d)
		}
		q, err := Fit("toy", p, []string{"label", "graph"}, c.losses)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := slices.DeleteFunc(slices.Clone(q.Docs), func(d Doc) bool { return d.isEmpty() })
		if d := cmp.Diff(c.want, got); d != "" && len(c.want)+len(got) > 0 {
			t.Errorf("%s: docs (-want +got)\n%s", c.name, d)
		}
		if len(p.Docs) != len(docs) || p.Docs[0].Text != "t" {
			t.Errorf("%s: the schema of the caller has other docs", c.name)
		}
	}
}

// TestDocsOfLostAttributes: docs follow the attributes that are left.
func TestDocsOfLostAttributes(t *testing.T) {
	p := documentedSchema()
	for i := range 5 {
		p.Docs = append(p.Docs, Doc{Path: fmt.Sprintf("graph.nodes[1].attributes[%d]", i), Text: fmt.Sprint(i)})
	}
	p.Docs = append(p.Docs, Doc{Path: "graph.nodes[1].attributes[2].graphs[1].nodes[0]", Text: "inner"})
	q, err := Fit("toy", p, []string{"attribute"}, func(p *Schema, l *LossList) error {
		l.Docs(func(*Doc) (text, properties bool) { return true, true })
		for j, a := range p.Graph.Nodes[1].Attributes {
			if a.Name == "b" || a.Name == "d" {
				l.Attribute(p, 1, j, unsupported("no"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Doc{
		{Path: "graph.nodes[1].attributes[0]", Text: "0"},
		{Path: "graph.nodes[1].attributes[1]", Text: "2"},
		{Path: "graph.nodes[1].attributes[2]", Text: "4"},
		{Path: "graph.nodes[1].attributes[1].graphs[1].nodes[0]", Text: "inner"},
	}
	if d := cmp.Diff(want, q.Docs); d != "" {
		t.Error(d)
	}
}

// TestRenumber: docs of the elements of a list, and of what is in them, get other indices.
func TestRenumber(t *testing.T) {
	docs := []Doc{{Path: "graph"}, {Path: "graph.nodes[0]"}, {Path: "graph.nodes[1].attributes[0]"}, {Path: "graph.nodes[12].attributes[0].g.nodes[1]"}, {Path: "graph.inputs[1]"}, {Path: `tensor "graph.nodes[1]"`}}
	got := Renumber(docs, "graph.nodes", func(old int) int { return old - 1 })
	want := []Doc{{Path: "graph"}, {Path: "graph.nodes[0].attributes[0]"}, {Path: "graph.nodes[11].attributes[0].g.nodes[1]"}, {Path: "graph.inputs[1]"}, {Path: `tensor "graph.nodes[1]"`}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if docs[1].Path != "graph.nodes[0]" {
		t.Error("the list of the caller changed")
	}
}
