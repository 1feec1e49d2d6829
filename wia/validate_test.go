package wia

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
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
			[]Problem{{"graph.nodes[0].inputs[0]", `"c" is used before node 2 defines it`}, {"graph.nodes[0]", "a cycle of nodes 1, 2, 0"}}},
		{"own output", &format.Graph{Nodes: []format.Node{node("Relu", s("a"), s("a"))}}, []Problem{{"graph.nodes[0].inputs[0]", `the node consumes its own output "a"`}}},
		{"no operator", &format.Graph{Nodes: []format.Node{{}}}, []Problem{{"graph.nodes[0].op_type", "a node without operator"}}},
		{"an operator of another format", &format.Graph{Inputs: x, Nodes: []format.Node{node("FullyConnected", s("x", "x"), s("y"))}},
			[]Problem{{"graph.nodes[0].op_type", `ONNX has no operator "FullyConnected"`}}},
		{"unknown domain", &format.Graph{Nodes: []format.Node{{Op: "X", Domain: "com.example"}, {Op: "Y", Domain: "ai.onnx.ml"}}}, []Problem{{"graph.nodes[0].domain", `unknown operator set "com.example"`}}},
		{"Conv", &format.Graph{Inputs: x, Nodes: []format.Node{
			node("Conv", s("x"), nil), node("Conv", s("x", "x", "x", "x"), s("y"), kernel, format.Attribute{Name: "strides", Value: "1"})}},
			[]Problem{
				{"graph.nodes[0].inputs", `the input "W" is missing`}, {"graph.nodes[0].outputs", `the output "Y" is missing`},
				{"graph.nodes[0].attributes", `Conv needs the attribute "kernel_shape"`},
				{"graph.nodes[1].inputs[3]", "the operator has 3 inputs"}, {"graph.nodes[1].attributes", `the attribute "strides" of Conv is a string`}}},
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

func TestOperatorDefaults(t *testing.T) {
	n := node("Conv", nil, nil, format.Attribute{Name: "dilations", Value: []int64{2}})
	n.Domain = "ai.onnx"
	for name, want := range map[string]any{"strides": []int64{1, 1}, "dilations": []int64{2}, "kernel_shape": nil} {
		got, ok := AttributeOf(&n, name)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%s: %v %s", name, ok, diff)
		}
	}
	if op, ok := LookupOperator("", "Conv"); !ok || op.SinceVersion != 1 || len(op.Inputs) != 3 || !op.Inputs[2].Optional {
		t.Errorf("Conv: %+v", op)
	}
	if _, ok := LookupOperator("", "Relu"); ok {
		t.Error("the specification does not list Relu")
	}
}

// TestAttributeTypes gives Conv a kernel_shape of every type.
func TestAttributeTypes(t *testing.T) {
	for _, v := range []any{float32(1), 1.0, int64(1), true, "x", tensor.View{}, (*format.Graph)(nil), []float32{}, []float64{}, []string{}, []tensor.View{}, []*format.Graph{}, struct{}{}} {
		g := &format.Graph{Inputs: []format.ValueInfo{{Name: "x"}}, Nodes: []format.Node{node("Conv", []string{"x", "x"}, []string{"y"}, format.Attribute{Name: "kernel_shape", Value: v})}}
		if got := Validate(g, nil); len(got) != 1 || got[0].Path != "graph.nodes[0].attributes" {
			t.Errorf("%T: %v", v, got)
		}
	}
	g := &format.Graph{Inputs: []format.ValueInfo{{Name: "x"}}, Nodes: []format.Node{node("Conv", []string{"x", "x"}, []string{"y"}, format.Attribute{Name: "kernel_shape", Value: []int32{1}})}}
	if got := Validate(g, nil); got != nil {
		t.Errorf("%v", got)
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
	got, err := f.Validate()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Problem{{"graph.nodes[0].attributes", `Conv needs the attribute "kernel_shape"`}}, got); diff != "" {
		t.Error(diff)
	}
	f.Close()
	if _, err := f.Validate(); err == nil {
		t.Error("a closed file validates")
	}
}

// TestValidateCycles: as many cycles as nodes, each as long as the graph, are reported in as much memory as the
// graph takes.
func TestValidateCycles(t *testing.T) {
	var took [2]uint64
	for i, n := range []int{5000, 10_000} {
		g := &format.Graph{}
		for k := range n {
			g.Nodes = append(g.Nodes, node("Add", []string{fmt.Sprint("v", (k+1)%n), "v0"}, []string{fmt.Sprint("v", k)}))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		problems := Validate(g, nil)
		runtime.ReadMemStats(&after)
		took[i] = after.TotalAlloc - before.TotalAlloc
		last := Problem{"graph.nodes[0]", "a cycle of nodes 1, 0"}
		if want := "a cycle of nodes " + fmt.Sprintf("%d, %d, %d, %d, %d, %d, %d, %d and %d more", n-1, n-2, n-3, n-4, n-5, n-6, n-7, n-8, n-8); problems[len(problems)-1] != last ||
			!slices.ContainsFunc(problems, func(p Problem) bool { return p.Message == want }) {
			t.Errorf("%d nodes: %v", n, problems[len(problems)-1])
		}
	}
	if took[1] > 3*took[0] {
		t.Errorf("%d bytes of memory, and %d for a graph twice as large", took[0], took[1])
	}
}
