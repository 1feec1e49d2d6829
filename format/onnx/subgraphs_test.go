package onnx

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// branch is a graph with an initializer c, which a byte tells from others, and a node.
func branch(data byte, node []byte) []byte {
	return cat(ld(1, str(1, "c"), str(2, "o"), str(4, "Identity")), node, str(2, "sub"),
		ld(5, num(1, 1), num(2, 2), str(8, "c"), ld(9, []byte{data}), str(77, "unknown")), ld(12, str(1, "o")))
}

// branches is a node with graphs in two attributes, and one in one of these.
func branches(output string) []byte {
	inner := ld(1, str(1, "c"), str(2, "p"), str(4, "If"), ld(5, str(1, "then_branch"), ld(6, branch(3, nil)), num(20, 5)))
	return ld(1, str(1, "y"), str(2, output), str(4, "If"),
		ld(5, str(1, "then_branch"), ld(6, branch(1, inner)), num(20, 5)),
		ld(5, str(1, "else_branch"), ld(6, branch(2, nil)), num(20, 5)),
		ld(5, str(1, "list"), ld(11, branch(4, nil)), ld(11, branch(5, nil)), num(20, 10)))
}

// branched is a model with graphs in attributes of a node.
func branched(op string, nodes ...[]byte) []byte {
	return cat(num(1, 9), ld(8, num(2, 17)), ld(7, ld(1, str(1, "x"), str(1, "w"), str(2, "y"), str(4, op)), cat(nodes...), str(2, "g"), weight("w"), inOut))
}

// TestSubgraphs: the graphs in attributes keep their initializers where the graph around them
// changes.
func TestSubgraphs(t *testing.T) {
	for name, change := range map[string]func(p *schema.Schema){
		"another operator": func(p *schema.Schema) { p.Graph.Nodes[0].Op = "Mul" },
		"a node before": func(p *schema.Schema) {
			p.Graph.Nodes = append([]schema.Node{{Op: "Mul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}}, p.Graph.Nodes[1:]...)
		},
		"and a doc in one": func(p *schema.Schema) {
			p.Graph.Nodes[0].Op = "Mul"
			p.Docs = append(p.Docs, schema.Doc{Path: "graph.nodes[1].attributes[0].g.initializers[0]"})
		},
	} {
		got := changed(t, branched("PRelu", branches("z")), 1, change)
		if !bytes.Equal(branched("Mul", branches("z")), got) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestSubgraphsLost: a node whose graph has lost its initializers is no node.
func TestSubgraphsLost(t *testing.T) {
	other := func(p *schema.Schema) { p.Graph.Nodes[0].Op = "Mul" }
	for _, c := range []struct {
		name   string
		nodes  []byte
		change func(p *schema.Schema)
		lost   []string
	}{
		{"no native", branches("z"), func(p *schema.Schema) { p.Native = nil }, []string{"graph:nodes[1] (If)"}},
		{"other names", branches("z"), func(p *schema.Schema) {
			p.Graph.Nodes[1].Attributes[1].Value.(*schema.Graph).Initializers = []string{"d"}
		}, []string{"graph:nodes[1] (If)"}},
		{"other outputs", branches("z"), func(p *schema.Schema) { p.Graph.Nodes[1].Outputs = nil }, []string{"graph:nodes[1] (If)"}},
		{"two nodes with one output", cat(branches("z"), branches("z")), other, []string{"graph:nodes[1] (If)", "graph:nodes[2] (If)"}},
		{"gone", branches("z"), func(p *schema.Schema) { p.Graph = nil }, []string{"native:subgraph_initializers"}},
		{"the node is gone", branches("z"), func(p *schema.Schema) { p.Graph.Nodes = p.Graph.Nodes[:1] }, nil},
	} {
		p, err := open(t, branched("PRelu", c.nodes)).Schema()
		expect.OK(t, err)
		c.change(p)
		losses, err := format.Losses("", p, &format.WriteOptions{Format: Format{}})
		expect.OK(t, err)
		var lost []string
		for _, l := range losses {
			lost = append(lost, l.Item())
		}
		expect.Equal(t, c.lost, lost)
	}
}

// TestSubgraphsQuantize: quantizing the weights of a graph keeps the graphs in its attributes.
func TestSubgraphsQuantize(t *testing.T) {
	square := tensorOf(num(1, 2), num(1, 2), num(2, 1), str(8, "w"), ld(9, make([]byte, 16)))
	model := cat(num(1, 9), ld(8, num(2, 17)), ld(7, ld(1, str(1, "x"), str(1, "w"), str(2, "y"), str(4, "MatMul")), branches("z"), str(2, "g"), square, inOut))
	quantize := func(tensor.Info) *tensor.QuantizeOptions { return &tensor.QuantizeOptions{DType: tensor.Int8} }
	path, r, err := converted(t, model, &convert.Options{Quantize: quantize, Verify: true})
	expect.OK(t, err)
	expect.Equal(t, []schema.Loss(nil), r.Losses)
	m, err := Open(path, nil)
	expect.OK(t, err)
	defer m.Close()
	g, err := m.Graph()
	expect.OK(t, err)
	expect.Equal(t, []string{"DequantizeLinear", "MatMul", "If"}, []string{g.Nodes[0].Op, g.Nodes[1].Op, g.Nodes[2].Op})
	if !bytes.Contains(expect.Read(t, path), branches("z")[2:]) {
		t.Error("the node has other graphs")
	}
	var refused *schema.LossError
	_, err = convert.Model(t.Context(), m.Model, path+".npz", nil)
	if !errors.As(err, &refused) {
		t.Error(err)
	}
}
