package main

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestNoArrays: a vocabulary is not printed, whatever its type.
func TestNoArrays(t *testing.T) {
	meta := format.Metadata{
		{Key: "general.name", Value: "[]"},
		{Key: "tokens", Value: json.RawMessage(`["a","b","]"]`)},
		{Key: "scores", Value: []float64{0.5, math.Inf(1)}},
		{Key: "none", Value: []string{}},
		{Key: "mixed", Value: json.RawMessage(`[1, "a"]`)},
		{Key: "nested", Value: json.RawMessage(`{"a": [1]}`)},
		{Key: "lists", Value: json.RawMessage(`[[1], [2, 3]]`)},
		{Key: "flags", Value: json.RawMessage(`[true, false, false]`)},
		{Key: "n", Value: int64(7)},
	}
	got, err := withoutArrays(meta)
	must(t, err)
	text, err := json.Marshal(got)
	must(t, err)
	want := `{"general.name":"[]","tokens":{"type":"string","length":3},"scores":{"type":"mixed","length":2},"none":{"type":"","length":0},` +
		`"mixed":{"type":"mixed","length":2},"nested":{"a":[1]},"lists":{"type":"array","length":2},"flags":{"type":"boolean","length":3},"n":7}`
	same(t, want, string(text))
	path := save(t, "m.gguf", format.Plan{Metadata: meta[:2]}, floats("w", 1))
	r := inspectJSON(t, path, "-no-arrays")["metadata"].(map[string]any)
	same(t, map[string]any{"type": "string", "length": 3.0}, r["tokens"])
	if _, err := withoutArrays(format.Metadata{{Key: "k", Value: json.RawMessage("[")}}); err == nil {
		t.Error("no error for what is no JSON")
	}
}
