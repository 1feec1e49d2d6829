package wia

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"google.golang.org/protobuf/encoding/protowire"
)

// docsOf returns the docs of a file.
func docsOf(t *testing.T, f *File) []schema.Doc {
	t.Helper()
	p, err := f.Schema()
	expect.OK(t, err)
	return p.Docs
}

// TestDocs: doc strings and properties are read from each message that has them, and nothing else is.
func TestDocs(t *testing.T) {
	k, v := [2]string{"k", "v"}, [2]string{"k", ""}
	property := func(num protowire.Number) []byte { return by(num, st(1, "k"), st(2, "v")) }
	c := container{
		graph: cat(st(1, "g"),
			by(2, st(1, "conv"), st(2, "Conv"), st(4, "y"), st(6, "a node"),
				by(5, st(1, "pads"), vi(3, 0), st(13, "an attribute"), vi(20, 2)),
				by(5, st(1, "body"), by(6, cat(st(1, "sub"), by(2, st(2, "Relu"), st(6, "inside")), by(6, property(1)))), vi(20, 5))),
			by(2, st(2, "Relu")),
			by(3, st(1, "x"), st(3, "an input")), by(3, st(1, "z")), by(4, st(1, "y"), st(3, "an output")),
			by(5, decl("w", 1, 1), by(6, st(1, "declared"))),
			by(6, property(1), by(1, st(1, "k")))),
		tensor: cat(by(1, inline("w", 1, []byte{1, 2, 3, 4}, 1), by(6, st(1, "weights"), property(2))),
			by(1, inline("bare", 8, []byte{1}, 1))),
	}
	f := mustOpen(t, c.bytes(), nil)
	want := []schema.Doc{
		{Path: "graph", Name: "g", Properties: [][2]string{k, v}},
		{Path: "graph.nodes[0]", Name: "conv", Text: "a node"},
		{Path: "graph.nodes[0].attributes[0]", Name: "pads", Text: "an attribute"},
		{Path: "graph.nodes[0].attributes[1].g", Name: "sub", Properties: [][2]string{k}},
		{Path: "graph.nodes[0].attributes[1].g.nodes[0]", Text: "inside"},
		{Path: "graph.inputs[0]", Name: "x", Text: "an input"},
		{Path: "graph.outputs[0]", Name: "y", Text: "an output"},
		{Path: "graph.initializers[0]", Name: "w", Text: "declared"},
		{Path: `tensor "w"`, Name: "w", Text: "weights", Properties: [][2]string{k}},
	}
	expect.Equal(t, want, docsOf(t, f))
	expect.OK(t, f.Close())
	for name, f := range map[string]*File{"closed": f, "zero": {}} {
		p, err := f.Schema()
		if !errors.Is(err, format.ErrClosed) || p != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	plain := mustOpen(t, container{tensor: by(1, inline("w", 1, []byte{1, 2, 3, 4}, 1))}.bytes(), nil)
	expect.Equal(t, []schema.Doc(nil), docsOf(t, plain))
}

// pairField returns a property, without the fields that are empty.
func pairField(num protowire.Number, p [2]string) []byte {
	var b []byte
	if p[0] != "" {
		b = st(1, p[0])
	}
	if p[1] != "" {
		b = append(b, st(2, p[1])...)
	}
	return by(num, b)
}

// documented is a container whose parts have the docs, with an unknown field in each message that
// has one.
func documented(docs []schema.Doc) container {
	of := map[string]schema.Doc{}
	for _, d := range docs {
		of[d.Path] = d
	}
	u := st(77, "unknown")
	text := func(num protowire.Number, path string) []byte {
		if of[path].Text == "" {
			return nil
		}
		return st(num, of[path].Text)
	}
	pairs := func(num protowire.Number, path string) (b []byte) {
		for _, p := range of[path].Properties {
			b = append(b, pairField(num, p)...)
		}
		return b
	}
	ofTensor := func(path string) []byte {
		return by(6, text(1, path), pairs(2, path), u)
	}
	attribute := func(path string, parts ...[]byte) []byte {
		typ := parts[len(parts)-1]
		return by(5, cat(parts[:len(parts)-1]...), text(13, path), typ, u)
	}
	sub := func(path string) []byte {
		return cat(st(1, "sub"), by(2, st(2, "Relu"), text(6, path+".nodes[0]"), u), by(6, pairs(1, path), u))
	}
	const node = "graph.nodes[1]"
	return container{
		graph: cat(st(1, "g"),
			by(2, st(2, "Relu"), text(6, "graph.nodes[0]"), u),
			by(2, st(1, "n"), st(2, "If"),
				attribute(node+".attributes[0]", st(1, "a"), vi(3, 1), vi(20, 2)),
				attribute(node+".attributes[1]", st(1, "b"), by(6, sub(node+".attributes[1].g")), vi(20, 5)),
				attribute(node+".attributes[2]", st(1, "c"), by(11, sub(node+".attributes[2].graphs[0]")), by(11, sub(node+".attributes[2].graphs[1]")), vi(20, 10)),
				attribute(node+".attributes[3]", st(1, "d"), by(5, inline("t", 8, []byte{1}, 1), ofTensor(node+".attributes[3].t")), vi(20, 4)),
				attribute(node+".attributes[4]", st(1, "e"), by(10, inline("t", 8, []byte{1}, 1), ofTensor(node+".attributes[4].tensors[0]")), vi(20, 9)),
				text(6, node), u),
			by(3, st(1, "x"), text(3, "graph.inputs[0]"), u),
			by(4, st(1, "y"), text(3, "graph.outputs[0]"), u),
			by(5, decl("w", 8, 4), ofTensor("graph.initializers[0]")),
			by(6, pairs(1, "graph"), u)),
		tensor: cat(
			by(1, decl("w", 8, 4), ofTensor(`tensor "w"`), by(4, []byte{1, 2, 3, 4})),
			by(2, by(1, decl("z", 8, 4), ofTensor(`tensor "z"`)), vi(2, 1), by(3, gz([]byte{1, 2, 3, 4})), vi(4, 4))),
	}
}

// allDocs returns a doc for every part of documented, in the order of the file, with a suffix in
// each text and value.
func allDocs(suffix string) []schema.Doc {
	text := func(path, name string) schema.Doc {
		return schema.Doc{Path: path, Name: name, Text: "text of " + path + suffix}
	}
	pairs := func(path, name string) schema.Doc {
		return schema.Doc{Path: path, Name: name, Properties: [][2]string{{"k", "v" + suffix}, {"k", ""}, {"", "é" + suffix}}}
	}
	both := func(path, name string) schema.Doc {
		d := text(path, name)
		d.Properties = pairs(path, name).Properties
		return d
	}
	const node = "graph.nodes[1]"
	return []schema.Doc{
		pairs("graph", "g"),
		text("graph.nodes[0]", ""),
		text(node, "n"),
		text(node+".attributes[0]", "a"),
		text(node+".attributes[1]", "b"),
		pairs(node+".attributes[1].g", "sub"),
		text(node+".attributes[1].g.nodes[0]", ""),
		text(node+".attributes[2]", "c"),
		pairs(node+".attributes[2].graphs[0]", "sub"),
		text(node+".attributes[2].graphs[0].nodes[0]", ""),
		pairs(node+".attributes[2].graphs[1]", "sub"),
		text(node+".attributes[2].graphs[1].nodes[0]", ""),
		text(node+".attributes[3]", "d"),
		both(node+".attributes[3].t", "t"),
		text(node+".attributes[4]", "e"),
		both(node+".attributes[4].tensors[0]", "t"),
		text("graph.inputs[0]", "x"),
		text("graph.outputs[0]", "y"),
		both("graph.initializers[0]", "w"),
		both(`tensor "w"`, "w"),
		both(`tensor "z"`, "z"),
	}
}

// withDocs writes a copy of a file with other docs.
func withDocs(t *testing.T, f *File, docs []schema.Doc) *File {
	t.Helper()
	p, err := f.Schema()
	expect.OK(t, err)
	p.Docs = docs
	var out bytes.Buffer
	w, err := newWriter(&out, p, nil)
	expect.OK(t, err)
	expect.OK(t, w.WriteModel(f.Model))
	expect.OK(t, w.Close())
	return mustOpen(t, out.Bytes(), nil)
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
			f := mustOpen(t, documented(c.from).bytes(), nil)
			expect.Equal(t, c.from, docsOf(t, f))
			got := withDocs(t, f, c.to)
			expect.Equal(t, c.to, docsOf(t, got))
			want := mustOpen(t, documented(c.to).bytes(), nil)
			expect.Equal(t, want.f.graph().data, got.f.graph().data)
			for _, name := range []string{"w", "z"} {
				expect.Equal(t, recordOf(t, want, name), recordOf(t, got, name))
			}
		})
	}
}

// TestDocsAnew: docs are written where the file had no messages for them, and into a graph that has
// changed.
func TestDocsAnew(t *testing.T) {
	pair := by(2, st(1, "k"), st(2, "v"))
	f := mustOpen(t, container{
		graph:  cat(by(2, st(2, "Relu"), st(6, "old"), st(77, "unknown")), by(5, decl("w", 8, 1))),
		tensor: by(1, inline("w", 8, []byte{1}, 1)),
	}.bytes(), nil)
	docs := []schema.Doc{
		{Path: "graph", Properties: [][2]string{{"k", "v"}}},
		{Path: "graph.nodes[0]", Text: "new"},
		{Path: "graph.initializers[0]", Name: "w", Text: "declared"},
		{Path: `tensor "w"`, Name: "w", Properties: [][2]string{{"k", "v"}}},
	}
	got := withDocs(t, f, docs)
	expect.Equal(t, docs, docsOf(t, got))
	metadata := by(6, by(1, st(1, "k"), st(2, "v")))
	declared := by(5, decl("w", 8, 1), by(6, st(1, "declared")))
	want := cat(by(2, st(2, "Relu"), st(6, "new"), st(77, "unknown")), declared, metadata)
	expect.Equal(t, want, got.f.graph().data)
	expect.Equal(t, cat(decl("w", 8, 1), by(6, pair)), recordOf(t, got, "w"))

	p, err := f.Schema()
	expect.OK(t, err)
	p.Graph.Nodes[0].Op = "Tanh"
	p.Docs = docs
	var out bytes.Buffer
	w, err := newWriter(&out, p, &format.WriteOptions{AcceptLoss: []string{"native"}})
	expect.OK(t, err)
	expect.OK(t, w.WriteModel(f.Model))
	expect.OK(t, w.Close())
	changed := mustOpen(t, out.Bytes(), nil)
	want = cat(by(2, st(2, "Tanh"), st(6, "new")), declared, metadata)
	expect.Equal(t, want, changed.f.graph().data)
}

// TestDocsMerged: a doc that is divided among messages that are merged is read as one, and written
// into the first. Properties that stay have their unknown fields.
func TestDocsMerged(t *testing.T) {
	pair := func(num protowire.Number, k string) []byte { return by(num, st(1, k), st(99, "u")) }
	graph := func(first, second, inner []byte) []byte {
		return by(2, st(2, "If"), by(5, st(1, "b"),
			by(6, by(2, st(2, "A"), st(6, "of A")), first),
			by(6, by(2, st(2, "B"), inner), second), vi(20, 5)))
	}
	record := func(first, second []byte) []byte {
		return cat(decl("w", 8, 1), by(6, st(77, "u"), first), by(6, second, st(78, "u")))
	}
	f := mustOpen(t, container{
		graph: graph(by(6, pair(1, "one")), by(6, pair(1, "two"), st(79, "u")), st(6, "of B")),
		tensor: by(1, record(cat(st(1, "first"), pair(2, "one")), cat(pair(2, "two"), st(1, "last"))),
			by(4, []byte{1})),
	}.bytes(), nil)
	const path = "graph.nodes[0].attributes[0].g"
	docs := []schema.Doc{
		{Path: path, Properties: [][2]string{{"one"}, {"two"}}},
		{Path: path + ".nodes[0]", Text: "of A"},
		{Path: path + ".nodes[1]", Text: "of B"},
		{Path: `tensor "w"`, Name: "w", Text: "last", Properties: [][2]string{{"one"}, {"two"}}},
	}
	expect.Equal(t, docs, docsOf(t, f))

	docs[0].Properties = [][2]string{{"three"}, {"one"}}
	docs[2].Text = "of another"
	docs[3].Text = "new"
	got := withDocs(t, f, docs)
	expect.Equal(t, docs, docsOf(t, got))
	want := graph(by(6, by(1, st(1, "three")), pair(1, "one")), by(6, st(79, "u")), st(6, "of another"))
	expect.Equal(t, want, got.f.graph().data)
	expect.Equal(t, record(cat(st(1, "new"), pair(2, "one")), pair(2, "two")), recordOf(t, got, "w"))

	none := withDocs(t, f, nil)
	expect.Equal(t, []schema.Doc(nil), docsOf(t, none))
	want = by(2, st(2, "If"), by(5, st(1, "b"), by(6, by(2, st(2, "A"))),
		by(6, by(2, st(2, "B")), by(6, st(79, "u"))), vi(20, 5)))
	expect.Equal(t, want, none.f.graph().data)
	expect.Equal(t, record(nil, nil), recordOf(t, none, "w"))
}

// TestDocsOfOthers: what has no place in a schema has no doc: values of an attribute that do not
// count.
func TestDocsOfOthers(t *testing.T) {
	f := mustOpen(t, container{graph: by(2, st(2, "Op"),
		by(5, st(1, "a"), vi(3, 1), by(6, by(2, st(6, "doc"))), by(5, inline("t", 8, []byte{1}, 1), by(6, st(1, "doc"))), vi(20, 2)),
		by(5, st(1, "b"), by(5, inline("t", 8, []byte{1}, 1), by(6, st(1, "doc"))), by(6, by(2, st(6, "last counts")))))}.bytes(), nil)
	docs := []schema.Doc{{Path: "graph.nodes[0].attributes[1].g.nodes[0]", Text: "last counts"}}
	expect.Equal(t, docs, docsOf(t, f))
	expect.Equal(t, f.f.graph().data, withDocs(t, f, docs).f.graph().data)
}

// TestInitializerDocs: an initializer with data is a tensor too, whose doc both have.
func TestInitializerDocs(t *testing.T) {
	f := mustOpen(t, container{graph: by(5, inline("w", 8, []byte{1}, 1), by(6, st(1, "doc")))}.bytes(), nil)
	docs := []schema.Doc{
		{Path: "graph.initializers[0]", Name: "w", Text: "doc"},
		{Path: `tensor "w"`, Name: "w", Text: "doc"},
	}
	expect.Equal(t, docs, docsOf(t, f))
	docs[1].Text = "another"
	got := withDocs(t, f, docs)
	expect.Equal(t, docs, docsOf(t, got))
	expect.Equal(t, by(5, decl("w", 8, 1), by(6, st(1, "doc"))), got.f.graph().data)
}

// TestRefusedDocs: docs that the format has no place for are losses, by text and properties.
func TestRefusedDocs(t *testing.T) {
	pairs := [][2]string{{"k", "v"}}
	f := mustOpen(t, documented(nil).bytes(), nil)
	for _, c := range []struct {
		doc  schema.Doc
		lost []string
	}{
		{schema.Doc{Path: "graph", Text: "t"}, []string{"label:doc_string"}},
		{schema.Doc{Path: "graph.nodes[1].attributes[2].graphs[0]", Text: "t", Properties: pairs}, []string{"label:doc_string"}},
		{schema.Doc{Path: "graph.nodes[0]", Properties: pairs}, []string{"label:properties"}},
		{schema.Doc{Path: "graph.nodes[1].attributes[0]", Text: "t", Properties: pairs}, []string{"label:properties"}},
		{schema.Doc{Path: "graph.inputs[0]", Properties: pairs}, []string{"label:properties"}},
		{schema.Doc{Path: "graph.outputs[0]", Properties: pairs}, []string{"label:properties"}},
		{schema.Doc{Path: "graph", Properties: [][2]string{{"k\x00", "v"}}}, []string{"label:properties"}},
		{schema.Doc{Path: `tensor "w"`, Text: "t\x00", Properties: [][2]string{{"k", "v\x00"}}}, nil},
	} {
		p, err := f.Schema()
		expect.OK(t, err)
		p.Docs = []schema.Doc{c.doc}
		var items []string
		losses, err := format.Losses("", p, &format.WriteOptions{Format: Format{}})
		expect.OK(t, err)
		for _, l := range losses {
			items = append(items, l.Item())
		}
		if !slices.Equal(c.lost, items) {
			t.Errorf("%s: %q, want %q", c.doc.Path, items, c.lost)
		}
		w, err := newWriter(&bytes.Buffer{}, p, &format.WriteOptions{AcceptLoss: []string{"label"}})
		expect.OK(t, err)
		w.Abort()
	}
}

// TestDocsMemory: docs count against MaxMemory, and have a limit without one.
func TestDocsMemory(t *testing.T) {
	b := container{graph: bytes.Repeat(by(2, st(6, "a")), 2000)}.bytes()
	f := mustOpen(t, b, &format.Options{MaxMemory: 400 << 10})
	_, err := f.Schema()
	checkError(t, err, format.ErrLimit, "graph.nodes[", int64(len(b)))
	f = mustOpen(t, b, &format.Options{MaxMemory: 2 << 20})
	expect.Equal(t, 2000, len(docsOf(t, f)))
	many := mustOpen(t, container{graph: bytes.Repeat(by(2, st(6, "a")), 200_000)}.bytes(), nil)
	expect.Refused(t, format.ErrLimit, "docs of 16 times the file")(many.Schema())
	deep := by(2, st(6, "doc"))
	for range 30 {
		deep = by(2, st(6, "doc"), by(5, by(6, deep), vi(20, 5)))
	}
	tall := mustOpen(t, container{graph: bytes.Repeat(deep, 3000)}.bytes(), nil)
	expect.Refused(t, format.ErrLimit, "long paths")(tall.Schema())
}
