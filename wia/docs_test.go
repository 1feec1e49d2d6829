package wia

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"google.golang.org/protobuf/encoding/protowire"
)

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
	want := []Doc{
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
	expect.Equal(t, want, expect.Got(t, f.Docs))
	expect.OK(t, f.Close())
	for name, f := range map[string]*File{"closed": f, "zero": {}} {
		if docs, err := f.Docs(); !errors.Is(err, format.ErrClosed) || docs != nil {
			t.Errorf("%s: %v, %v", name, docs, err)
		}
	}
	plain := mustOpen(t, container{tensor: by(1, inline("w", 1, []byte{1, 2, 3, 4}, 1))}.bytes(), nil)
	expect.Equal(t, []Doc(nil), expect.Got(t, plain.Docs))
}
