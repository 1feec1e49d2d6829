package onnx

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

// docsOf returns the docs of a model.
func docsOf(t *testing.T, model []byte) []schema.Doc {
	t.Helper()
	p, err := open(t, model).Schema()
	expect.OK(t, err)
	return p.Docs
}

// documented is a model whose parts have the docs, with an unknown field in each message that has
// one.
func documented(docs []schema.Doc) []byte {
	of := map[string]schema.Doc{}
	for _, d := range docs {
		of[d.Path] = d
	}
	u := str(77, "unknown")
	text := func(field int, path string) []byte {
		if of[path].Text == "" {
			return nil
		}
		return str(field, of[path].Text)
	}
	pairs := func(field int, path string) (b []byte) {
		for _, p := range of[path].Properties {
			b = append(b, prop(field, p[0], p[1])...)
		}
		return b
	}
	ofTensor := func(path, name string) []byte {
		return cat(num(1, 1), num(2, 2), str(8, name), ld(9, []byte{1}), text(12, path), pairs(16, path), u)
	}
	attribute := func(path string, typ uint64, parts ...[]byte) []byte {
		return ld(5, cat(parts...), text(13, path), num(20, typ), u)
	}
	sub := func(path string) []byte {
		return cat(ld(1, str(4, "Relu"), text(6, path+".nodes[0]"), pairs(9, path+".nodes[0]"), u), str(2, "sub"),
			ld(5, ofTensor(path+".initializers[0]", "s")), text(10, path),
			ld(12, str(1, "o"), text(3, path+".outputs[0]"), pairs(4, path+".outputs[0]")), pairs(16, path), u)
	}
	const node = "graph.nodes[1]"
	graph := cat(
		ld(1, str(4, "Relu"), text(6, "graph.nodes[0]"), u),
		ld(1, str(3, "n"), str(4, "If"),
			attribute(node+".attributes[0]", 2, str(1, "a"), num(3, 1)),
			attribute(node+".attributes[1]", 5, str(1, "b"), ld(6, sub(node+".attributes[1].g"))),
			attribute(node+".attributes[2]", 10, str(1, "c"), ld(11, sub(node+".attributes[2].graphs[0]"))),
			attribute(node+".attributes[3]", 4, str(1, "d"), ld(5, ofTensor(node+".attributes[3].t", "t"))),
			attribute(node+".attributes[4]", 9, str(1, "e"), ld(10, ofTensor(node+".attributes[4].tensors[0]", "t"))),
			text(6, node), pairs(9, node), u),
		str(2, "g"),
		ld(5, ofTensor(`tensor "w"`, "w")),
		ld(5, ofTensor(`tensor "z"`, "z")),
		text(10, "graph"),
		ld(11, str(1, "x"), text(3, "graph.inputs[0]"), pairs(4, "graph.inputs[0]"), u),
		ld(12, str(1, "y"), text(3, "graph.outputs[0]"), pairs(4, "graph.outputs[0]"), u),
		ld(13, str(1, "v"), str(3, "only in Native")),
		pairs(16, "graph"), u)
	return cat(num(1, 9), ld(8, num(2, 17)), ld(7, graph))
}

// allDocs returns a doc for every part of documented, in the order of the file, with a suffix in
// each text and value.
func allDocs(suffix string) []schema.Doc {
	text := func(path, name string) schema.Doc {
		return schema.Doc{Path: path, Name: name, Text: "text of " + path + suffix}
	}
	both := func(path, name string) schema.Doc {
		d := text(path, name)
		d.Properties = [][2]string{{"k", "v" + suffix}, {"k", "w"}, {"k\x00", "é" + suffix}}
		return d
	}
	const node = "graph.nodes[1]"
	graph := func(path string) []schema.Doc {
		return []schema.Doc{both(path, "sub"), both(path+".nodes[0]", ""), both(path+".initializers[0]", "s"), both(path+".outputs[0]", "o")}
	}
	return slices.Concat(
		[]schema.Doc{both("graph", "g"), text("graph.nodes[0]", ""), both(node, "n"),
			text(node+".attributes[0]", "a"), text(node+".attributes[1]", "b")},
		graph(node+".attributes[1].g"), []schema.Doc{text(node+".attributes[2]", "c")},
		graph(node+".attributes[2].graphs[0]"), []schema.Doc{
			text(node+".attributes[3]", "d"), both(node+".attributes[3].t", "t"),
			text(node+".attributes[4]", "e"), both(node+".attributes[4].tensors[0]", "t"),
			both("graph.inputs[0]", "x"), both("graph.outputs[0]", "y"),
			both(`tensor "w"`, "w"), both(`tensor "z"`, "z"),
		})
}

// TestWriteDocs: a copy has the docs of the schema, and everything else byte by byte.
func TestWriteDocs(t *testing.T) {
	all := allDocs("")
	cases := map[string]struct{ from, to []schema.Doc }{
		"unchanged": {all, all},
		"added":     {nil, all},
		"removed":   {all, nil},
		"changed":   {all, allDocs(", changed")},
		"none":      {nil, nil},
	}
	for i := range all {
		one := slices.Clone(all)
		one[i] = allDocs("!")[i]
		cases["one changed: "+all[i].Path] = struct{ from, to []schema.Doc }{all, one}
		cases["one added: "+all[i].Path] = struct{ from, to []schema.Doc }{nil, all[i : i+1]}
		rest := slices.Delete(slices.Clone(all), i, i+1)
		cases["one removed: "+all[i].Path] = struct{ from, to []schema.Doc }{all, rest}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			model := documented(c.from)
			expect.Equal(t, c.from, docsOf(t, model))
			got := changed(t, model, 1, func(p *schema.Schema) { p.Docs = c.to })
			expect.Equal(t, documented(c.to), got)
			expect.Equal(t, c.to, docsOf(t, got))
		})
	}
}

// TestDocsAnew: docs are written into a graph that has changed, and into tensors that are new.
func TestDocsAnew(t *testing.T) {
	docs := []schema.Doc{
		{Path: "graph", Name: "g", Text: "of the graph"},
		{Path: "graph.nodes[0]", Text: "of the node", Properties: [][2]string{{"k", "v"}}},
		{Path: "graph.inputs[0]", Name: "x", Text: "of x"},
		{Path: `tensor "w"`, Name: "w", Text: "of w", Properties: [][2]string{{"k", "v"}}},
	}
	got := changed(t, nativeModel(nil), 1, func(p *schema.Schema) {
		p.Native = nil
		p.Docs = docs
	})
	want := cat(num(1, 9), ld(8, num(2, 17)), ld(7,
		ld(1, str(1, "x"), str(1, "w"), str(2, "y"), str(4, "PRelu"), str(6, "of the node"), prop(9, "k", "v")), str(2, "g"),
		tensorOf(num(1, 2), num(2, 1), str(8, "w"), ld(9, make([]byte, 8)), str(12, "of w"), prop(16, "k", "v")),
		str(10, "of the graph"), ld(11, str(1, "x"), floatType, str(3, "of x")), ld(12, str(1, "y"), floatType)))
	expect.Equal(t, want, got)
	expect.Equal(t, docs, docsOf(t, got))
}

// TestDocOfTensors: a graph of tensors alone counts as none, unless it has a doc.
func TestDocOfTensors(t *testing.T) {
	model := func(parts ...[]byte) []byte {
		return cat(num(1, 9), ld(8, num(2, 17)), ld(7, weight("w"), cat(parts...)))
	}
	for name, c := range map[string]struct {
		part []byte
		docs []schema.Doc
	}{
		"none":          {nil, nil},
		"an empty":      {str(10, ""), nil},
		"a text":        {str(10, "doc"), []schema.Doc{{Path: "graph", Text: "doc"}}},
		"a pair":        {prop(16, "k", "v"), []schema.Doc{{Path: "graph", Properties: [][2]string{{"k", "v"}}}}},
		"an empty pair": {ld(16), []schema.Doc{{Path: "graph", Properties: [][2]string{{"", ""}}}}},
	} {
		f := open(t, model(c.part))
		g, err := f.Graph()
		if (g != nil) != (c.docs != nil) || err != nil {
			t.Errorf("%s: %v, %v", name, g, err)
		}
		expect.Equal(t, c.docs, docsOf(t, model(c.part)))
		expect.Equal(t, model(c.part), copied(t, model(c.part), 1))
	}
}

// TestRefusedDocs: docs that the format has no place for are losses.
func TestRefusedDocs(t *testing.T) {
	sparse := sparseOf(ld(1, num(1, 1), num(2, 1), str(8, "s"), f32(4, 1)))
	for _, c := range []struct {
		doc  schema.Doc
		lost []string
	}{
		{schema.Doc{Path: `tensor "s"`, Text: "t"}, []string{"label:doc_string"}},
		{schema.Doc{Path: "graph.initializers[0]", Text: "t", Properties: [][2]string{{"k", "v"}}}, []string{"label:doc_string", "label:properties"}},
		{schema.Doc{Path: "graph.nodes[1].attributes[0]", Text: "t", Properties: [][2]string{{"k", "v"}}}, []string{"label:properties"}},
	} {
		model := modelOf(sparse, nodeWith(ld(5, str(1, "a"), num(3, 1), num(20, 2))))
		p, err := open(t, model).Schema()
		expect.OK(t, err)
		p.Docs = []schema.Doc{c.doc}
		losses, err := format.Losses("", p, &format.WriteOptions{Format: Format{}})
		expect.OK(t, err)
		var items []string
		for _, l := range losses {
			items = append(items, l.Item())
		}
		expect.Equal(t, c.lost, items)
	}
}

// TestDocsMemory: docs count against MaxMemory.
func TestDocsMemory(t *testing.T) {
	b := modelOf(bytes.Repeat(nodeWith(str(6, "a")), 2000))
	f, err := openBytes(b, &format.Options{MaxMemory: 500 << 10})
	expect.OK(t, err)
	defer f.Close()
	expect.Refused(t, format.ErrLimit)(f.Schema())
	expect.Equal(t, 2000, len(docsOf(t, b)))
}
