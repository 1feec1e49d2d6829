package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// scaled writes two FP8 weights with scales in other tensors.
func scaled(t *testing.T) string {
	t.Helper()
	var views []tensor.View
	for _, name := range []string{"up", "down"} {
		w, err := tensor.FromBytes(name+".weight", tensor.Float8E4M3FN, tensor.Shape{1, 2}, []byte{0x38, 0x40})
		must(t, err)
		s, err := tensor.Of(name+".weight_scale_inv", tensor.Shape{1, 1}, []float32{3})
		must(t, err)
		views = append(views, w, s)
	}
	path := filepath.Join(t.TempDir(), "fp8.safetensors")
	must(t, format.Save(path, "", views...))
	return path
}

// TestJoin: inspect names the pairs, convert -join makes one tensor of each.
func TestJoin(t *testing.T) {
	path := scaled(t)
	out, _ := tool(t, 0, "inspect", path)
	contains(t, out, `.weight_scale_inv": one scale, and 1 pair like it; convert -join makes one tensor of them`)
	out, _ = tool(t, 0, "inspect", "-json", path)
	if want := `"tensor": "up.weight_scale_inv",`; strings.Count(out, want) != 1 || strings.Count(out, `"layout": "one scale"`) != 2 {
		t.Errorf("no %s in\n%s", want, out)
	}
	joined := filepath.Join(t.TempDir(), "joined.safetensors")
	tool(t, 0, "convert", "-join", "-dtype", "float16", path, joined)
	out, _ = tool(t, 0, "cat", joined, "up.weight")
	same(t, "3 6\n", out)
	if out, _ = tool(t, 0, "inspect", joined); !strings.Contains(out, "2 tensors") || strings.Count(out, "float16") < 2 || strings.Contains(out, "_scale") {
		t.Error(out)
	}
	_, errs := tool(t, 2, "convert", "-join", joined, filepath.Join(t.TempDir(), "again.safetensors"))
	if !strings.Contains(errs, "no tensor has its scales in another one") || strings.Count(errs, joined) != 1 {
		t.Error(errs)
	}
}
