package jsonmeta

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// compare reads a text as a string, and has encoding/json do the same, which takes invalid UTF-8 too.
func compare(t *testing.T, text string) {
	s := NewScanner([]byte(text), Options{LoneSurrogates: true})
	got, err := s.Text()
	if err == nil {
		err = s.End()
	}
	var want string
	bad := json.Unmarshal([]byte(text), &want)
	if (err == nil) != (bad == nil && utf8.ValidString(text)) || err == nil && string(got) != want {
		t.Fatalf("%q is %q, %v; encoding/json: %q, %v", text, got, err, want, bad)
	}
}

// morsels are what strings are made of in these tests.
var morsels = []string{
	"a", "tensor.", "weight_0", strings.Repeat("x", 31), "é", "模", "\U0001f600", "\x7f", " ", "!", "#", "[", "]",
	`"`, `\"`, `\\`, `\n`, `\u0041`, `\u0000`, `\ud83d\ude00`, `\ud800`, `\uDC00`, `\`, `\x`, `\u12`, `\u12g4`, `\u+123`,
	"\x00", "\x1f", "\n", "\x80", "\xbf", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
}

// TestTwins compares the scanning of eight bytes a step with encoding/json: each piece of a
// string at every place of a word, with any other behind it.
func TestTwins(t *testing.T) {
	for _, a := range morsels {
		for _, b := range morsels {
			for before := range 17 {
				for _, after := range []int{0, 1, 7, 8, 20} {
					text := `"` + strings.Repeat("~", before) + a + b + strings.Repeat("z", after)
					compare(t, text)
					compare(t, text+`" `)
				}
			}
		}
	}
}

// FuzzTwins looks for a string of which they think differently.
func FuzzTwins(f *testing.F) {
	for _, m := range morsels {
		f.Add(m + `"`)
		f.Add("seven.." + m + "seven.." + m + `" `)
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, `"`+text) })
}
