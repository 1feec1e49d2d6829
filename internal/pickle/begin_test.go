package pickle

import "testing"

func TestBegins(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       bool
	}{
		{"nothing", "", false},
		{"protocol 2", "\x80\x02}q\x00.", true},
		{"protocol 2, short", "\x80\x02.", true},
		{"protocol 5", "\x80\x05\x95\x01", true},
		{"protocol 6", "\x80\x06}q\x00.", false},
		{"no opcode", "\x80\x02\x00\x00", false},
		{"the length of safetensors", "\x80\x02\x00\x00\x00\x00\x00\x00{", false},
		{"a longer one", "\x80\x02(\x00\x00\x00\x00\x00{", false},
		{"a dict of protocol 0", "(dp0\nS'a'\n", true},
		{"a list of protocol 0", "(lp0\nI1\n", true},
		{"a tuple of protocol 0", "((lp0\nt", true},
		{"a dict of protocol 1", "}q\x00(", true},
		{"a list in a tuple", "(]q\x00}q\x01", true},
		{"a class", "ccopy_reg\n_reconstructor\np0\n", true},
		{"a class after a mark", "(ctorch._utils\n_rebuild_tensor_v2\n(", true},
		{"a text", "(Vabc\np0\n", true},
		{"a text of protocol 1", "(X\x03\x00\x00\x00abcq\x00", true},
		{"words", "cat\ndog\nbird\n", false},
		{"a sentence", "(do not read this)", false},
		{"JSON", "{\"a\":1}", false},
		{"an array of JSON", "[1, 2]", false},
		{"XML", "<?xml", false},
		{"marks", "((((((", false},
	} {
		if got := Begins([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
