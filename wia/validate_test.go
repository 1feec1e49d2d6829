package wia

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

func node(op string, in, out []string, attrs ...format.Attribute) format.Node {
	return format.Node{Op: op, Inputs: in, Outputs: out, Attributes: attrs}
}

func TestValidate(t *testing.T) {
	kernel := format.Attribute{Name: "kernel_shape", Value: []int64{3, 3}}
	x := []format.ValueInfo{{Name: "x"}}
	s := func(names ...string) []string { return names }
	tests := []struct {
		name string
		g    *format.Graph
		want []Problem
	}{
		{"good", &format.Graph{Inputs: x, Outputs: []format.ValueInfo{{Name: "z"}}, Initializers: s("w"), Nodes: []format.Node{
			node("Conv", s("x", "w", ""), s("y"), kernel), node("Relu", s("y"), s("z")), node("Add", s("z", "tensor"), s("", "q")),
		}}, nil},
		{"used before definition", &format.Graph{Inputs: x, Nodes: []format.Node{node("Relu", s("b"), s("c")), node("Relu", s("x"), s("b"))}},
			[]Problem{{"graph.nodes[0].inputs[0]", `"b" is used before node 1 defines it`}}},
		{"missing input", &format.Graph{Inputs: x, Nodes: []format.Node{node("Add", s("x", "nope"), s("c"))}},
			[]Problem{{"graph.nodes[0].inputs[1]", `nothing defines "nope"`}}},
		{"missing output", &format.Graph{Inputs: x, Outputs: []format.ValueInfo{{Name: "x"}, {Name: "nope"}, {Name: "tensor"}}},
			[]Problem{{"graph.outputs[1]", `nothing defines output "nope"`}}},
		{"duplicate outputs", &format.Graph{Inputs: x, Nodes: []format.Node{node("Split", s("x"), s("a", "a")), node("Relu", s("x"), s("a")), node("Relu", s("x"), s("x"))}},
			[]Problem{{"graph.nodes[0].outputs[1]", `"a" is defined twice`}, {"graph.nodes[1].outputs[0]", `"a" is defined twice`}, {"graph.nodes[2].outputs[0]", `"x" is defined twice`}}},
		{"duplicate inputs", &format.Graph{Inputs: []format.ValueInfo{{Name: "x"}, {Name: "x"}}}, []Problem{{"graph.inputs[1]", `input "x" is listed twice`}}},
		{"cycle", &format.Graph{Nodes: []format.Node{node("Relu", s("c"), s("a")), node("Relu", s("a"), s("b")), node("Relu", s("b"), s("c"))}},
			[]Problem{{"graph.nodes[0].inputs[0]", `"c" is used before node 2 defines it`}}},
		{"own output", &format.Graph{Nodes: []format.Node{node("Relu", s("a"), s("a"))}}, []Problem{{"graph.nodes[0].inputs[0]", `the node consumes its own output "a"`}}},
		{"no operator", &format.Graph{Nodes: []format.Node{{}}}, []Problem{{"graph.nodes[0].op_type", "a node without operator"}}},
		{"an operator of another format", &format.Graph{Inputs: x, Nodes: []format.Node{node("FullyConnected", s("x", "x"), s("y"))}},
			[]Problem{{"graph.nodes[0].op_type", `ONNX has no operator "FullyConnected"`}}},
		{"unknown domain", &format.Graph{Nodes: []format.Node{{Op: "X", Domain: "com.example"}, {Op: "Y", Domain: "ai.onnx.ml"}}}, []Problem{{"graph.nodes[0].domain", `unknown operator set "com.example"`}}},
		{"subgraphs", &format.Graph{Inputs: x, Nodes: []format.Node{
			node("If", s("x"), s("y"),
				format.Attribute{Name: "then", Value: &format.Graph{Nodes: []format.Node{node("Relu", s("x"), s("q")), node("Relu", s("y"), s("x"))}}},
				format.Attribute{Name: "else", Value: []*format.Graph{nil, {Nodes: []format.Node{node("Relu", s("q"), s("r"))}}}}),
		}}, []Problem{{"graph.nodes[0].attributes[0].g.nodes[1].inputs[0]", `nothing defines "y"`}, {"graph.nodes[0].attributes[1].graphs[1].nodes[0].inputs[0]", `nothing defines "q"`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Validate(tt.g, func(name string) bool { return name == "tensor" })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestValidateNothing: no graph has no problems, as that of a file without one.
func TestValidateNothing(t *testing.T) {
	none := format.Attribute{Name: "body", Value: (*format.Graph)(nil)}
	for _, g := range []*format.Graph{nil, {}, {Nodes: []format.Node{node("Loop", nil, nil, none)}}} {
		if got := Validate(g, nil); got != nil {
			t.Errorf("%v", got)
		}
	}
}

// TestValidateEndless: a graph that contains itself has an end.
func TestValidateEndless(t *testing.T) {
	g := &format.Graph{Nodes: []format.Node{node("Loop", nil, nil, format.Attribute{Name: "body"})}}
	g.Nodes[0].Attributes[0].Value = []*format.Graph{{}, g}
	if diff := cmp.Diff([]Problem{{"graph.nodes[0].attributes[0].graphs[1]", "the graph contains itself"}}, Validate(g, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestFileValidate(t *testing.T) {
	f := mustOpen(t, small().bytes(), nil)
	if got, err := f.Validate(); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	f.Close()
	if _, err := f.Validate(); err == nil {
		t.Error("a closed file validates")
	}
}
