package jsonmeta

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// compare parses text as a string, also with encoding/json, which accepts invalid UTF-8 too.
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

// morsels are the parts of the strings in these tests.
var morsels = []string{
	"a", "tensor.", "weight_0", strings.Repeat("x", 31), "é", "模", "\U0001f600", "\x7f", " ", "!", "#", "[", "]",
	`"`, `\"`, `\\`, `\n`, `\u0041`, `\u0000`, `\ud83d\ude00`, `\ud800`, `\uDC00`, `\`, `\x`, `\u12`, `\u12g4`, `\u+123`,
	"\x00", "\x1f", "\n", "\x80", "\xbf", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
}

// TestAgainstEncodingJSON compares the scanner, which reads eight bytes at a time, with encoding/json: each part
// at every offset in a word, followed by every other part.
func TestAgainstEncodingJSON(t *testing.T) {
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

// FuzzAgainstEncodingJSON searches for a string that the two parse differently.
func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, m := range morsels {
		f.Add(m + `"`)
		f.Add("seven.." + m + "seven.." + m + `" `)
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, `"`+text) })
}
