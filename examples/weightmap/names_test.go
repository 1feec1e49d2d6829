package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// numbered writes a model with a graph as MOBI, which numbers tensors, and returns both files.
func numbered(t *testing.T) (source, target string) {
	t.Helper()
	value := func(name string) []format.ValueInfo {
		return []format.ValueInfo{{Name: name, DType: tensor.Float32, Dims: format.FixedDims(1, 2)}}
	}
	plan := format.Plan{Graph: &format.Graph{Inputs: value("x"), Outputs: value("y"), Nodes: []format.Node{
		{Op: "MatMul", Inputs: []string{"x", "fc.weight"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "fc.bias"}, Outputs: []string{"y"}},
	}}}
	source, target = save(t, "m.onnx", plan, matrix("fc.weight"), floats("fc.bias", 5, 6)), filepath.Join(t.TempDir(), "m.mobi")
	tool(t, 0, "convert", "-lossy", source, target)
	return source, target
}

// TestKeptNames: the names that a conversion to MOBI kept are those of inspect, cat, diff
// and the patterns, and the file's numbers work too.
func TestKeptNames(t *testing.T) {
	source, target := numbered(t)
	out, _ := tool(t, 0, "inspect", target)
	contains(t, out, "  ID\n", "\nfc.weight  float32  [2,2]", "  0\n", "  1\n")
	contains(t, out, "Transpose(fc.weight) -> ", ", fc.bias) -> y")
	r := inspectJSON(t, target, "-filter", "fc.w*")
	row := r["tensors"].([]any)[0].(map[string]any)
	id, _ := row["id"].(string)
	if diff := cmp.Diff("fc.weight", row["name"]); diff != "" || id == "" {
		t.Errorf("number %q (-want +got):\n%s", id, diff)
	}
	for _, name := range []string{"fc.weight", id} {
		out, _ = tool(t, 0, "cat", target, name)
		if diff := cmp.Diff("1 2\n3 4\n", out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	out, _ = tool(t, 0, "inspect", "-filter", id, target)
	contains(t, out, "\nfc.weight ")
	_, errs := tool(t, 1, "cat", target, "fc.wieght")
	contains(t, errs, `tensor "fc.wieght": not found; did you mean fc.weight?`)
	out, _ = tool(t, 0, "convert", "-lossy", "-only", "fc.w*", target, filepath.Join(t.TempDir(), "o.npz"))
	contains(t, out, "written")
	if out, _ = tool(t, 1, "diff", source, target); strings.Contains(out, "only in") {
		t.Error(out)
	}
	tool(t, 0, "inspect", "-html", target)
}
