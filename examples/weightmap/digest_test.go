package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestDigest compares a model with its copy in another format, and with another model.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	a, copied, other := filepath.Join(dir, "a.safetensors"), filepath.Join(dir, "b.npz"), filepath.Join(dir, "c.safetensors")
	for path, number := range map[string]float32{a: 1, other: 2} {
		v, err := tensor.Of("w", tensor.Shape{2}, []float32{number, 3})
		expect.OK(t, err)
		expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{v}, nil))
	}
	tool(t, 0, "convert", a, copied)
	digestIn := func(path string) string {
		out, _ := tool(t, 0, "inspect", "-json", "-digest", path)
		var r struct{ Digest string }
		expect.OK(t, json.Unmarshal([]byte(out), &r))
		text, _ := tool(t, 0, "inspect", "-digest", path)
		if len(r.Digest) != 64 || !strings.Contains(text, "\ndigest "+r.Digest+"\n") {
			t.Errorf("%s: JSON has digest %q, and the text is\n%s", path, r.Digest, text)
		}
		return r.Digest
	}
	first := digestIn(a)
	expect.Equal(t, first, digestIn(copied))
	if digestIn(other) == first {
		t.Error("models with other numbers have the same digest")
	}
	out, _ := tool(t, 0, "diff", "-digest", a, copied)
	if strings.Count(out, "digest "+first) != 2 || !strings.Contains(out, "the digests are equal") {
		t.Errorf("diff of equal models:\n%s", out)
	}
	out, _ = tool(t, 1, "diff", "-digest", a, other)
	if strings.Contains(out, "digests are equal") || !strings.Contains(out, "digest "+first) {
		t.Errorf("diff of other models:\n%s", out)
	}
	out, _ = tool(t, 0, "diff", "-json", "-digest", a, copied)
	var r struct {
		A string `json:"digest_a"`
		B string `json:"digest_b"`
	}
	expect.OK(t, json.Unmarshal([]byte(out), &r))
	expect.Equal(t, []string{first, first}, []string{r.A, r.B})
	out, _ = tool(t, 0, "inspect", "-json", a)
	if strings.Contains(out, "digest") {
		t.Errorf("a digest that was not asked for:\n%s", out)
	}
}
