package shardname

import (
	"fmt"
	"testing"
)

// TestSplitStem: the generation in the names of the parts of a model.
func TestSplitStem(t *testing.T) {
	for stem, want := range map[string][2]string{
		"m-3f9a01c2":          {"m", "3f9a01c2"},
		"a-00000000-3f9a01c2": {"a-00000000", "3f9a01c2"},
		"m-3f9a01c":           {"m-3f9a01c", ""},
		"m-3f9a01c22":         {"m-3f9a01c22", ""},
		"m-3f9a01cg":          {"m-3f9a01cg", ""},
		"m-3F9A01C2":          {"m-3F9A01C2", ""},
		"m_3f9a01c2":          {"m_3f9a01c2", ""},
		"-3f9a01c2":           {"-3f9a01c2", ""},
		"3f9a01c2":            {"3f9a01c2", ""},
		"":                    {"", ""},
	} {
		model, generation := SplitStem(stem)
		if got := [2]string{model, generation}; got != want {
			t.Errorf("%q: %q, want %q", stem, got, want)
		}
	}
	if got := WithGeneration("m", "3f9a01c2ffffffff"); got != "m-3f9a01c2" {
		t.Error(got)
	}
}

// TestSplit: Split takes names apart that Name returns, and no others.
func TestSplit(t *testing.T) {
	for name, want := range map[string]string{
		"m-00001-of-00003.gguf":   "m 1 3 true",
		"a-b-12345-of-99999.gguf": "a-b 12345 99999 true",
		"-00001-of-00003.gguf":    " 0 0 false",
		"m-0001-of-00003.gguf":    " 0 0 false",
		"m--0001-of-00003.gguf":   " 0 0 false",
		"m-0000x-of-00003.gguf":   " 0 0 false",
		"m-00001-of-0000-.gguf":   " 0 0 false",
		"m-00001-of--0003.gguf":   " 0 0 false",
		"m-00001-of-00003.GGUF":   " 0 0 false",
		"x-m-00000-of-00000.gguf": "x-m 0 0 true",
		"":                        " 0 0 false",
	} {
		stem, no, count, ok := Split(name, ".gguf")
		if !ok {
			stem, no, count = "", 0, 0
		}
		if got := fmt.Sprintf("%s %d %d %v", stem, no, count, ok); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
