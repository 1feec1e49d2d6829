package jsonmeta

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/expect"
)

// walk lists what a scanner finds in an object of strings, integers, arrays of integers, nulls, and
// objects, which it skips.
func walk(text string, o Options) (seen []string, err error) {
	s := NewScanner([]byte(text), o)
	err = s.Object(func(key []byte, at int) error {
		head := fmt.Sprintf("%d %s", at, key)
		switch c := text[s.Offset()]; {
		case c == '"':
			b, err := s.Text()
			seen = append(seen, head+" text "+string(b))
			return err
		case c == '[':
			return s.Array(func(i int) error {
				n, err := s.Int()
				seen = append(seen, fmt.Sprint(head, " ", i, " ", n))
				return err
			})
		case c == '{':
			return s.Skip()
		case s.Null():
			seen = append(seen, head+" null")
			return nil
		}
		n, err := s.Int()
		seen = append(seen, fmt.Sprint(head, " ", n))
		return err
	})
	if err == nil {
		err = s.End()
	}
	return seen, err
}

func TestScanner(t *testing.T) {
	seen, err := walk(` { "a\u0062" : "x\n" , "n":9223372036854775807,"z":null,"o":{"a":1,"a":[2]},"l":[ 0 , 10 ],"e":[] } `, Options{})
	expect.OK(t, err)
	want := []string{"3 ab text x\n", "23 n 9223372036854775807", "47 z null", "76 l 0 0", "76 l 1 10"}
	expect.Equal(t, want, seen)
}

func TestScannerRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "expected an object at byte 0",
		`[]`:                             "expected an object at byte 0",
		`{"a":1} x`:                      "text after the object at byte 8",
		`{"a":1,}`:                       "expected a key at byte 7",
		`{"a":1.0}`:                      "expected an integer that is not negative at byte 5",
		`{"a":1e2}`:                      "expected an integer that is not negative at byte 5",
		`{"a":-0}`:                       "expected an integer that is not negative at byte 5",
		`{"a":nul}`:                      "expected an integer that is not negative at byte 5",
		`{"a":01}`:                       "expected an integer that is not negative at byte 5",
		`{"a":9223372036854775808}`:      "an integer beyond 2^63-1 at byte 5",
		`{"a":99999999999999999999}`:     "an integer beyond 2^63-1 at byte 5",
		`{"a":["1"]}`:                    "expected an integer that is not negative at byte 6",
		`{"a":"\ud800"}`:                 "a surrogate without its other half at byte 6",
		`{"a":{"b":[[]]}}`:               "nested deeper than 3 levels at byte 11",
		`{"a":` + strings.Repeat("[", 9): "expected an integer that is not negative at byte 6",
	} {
		_, err := walk(text, Options{MaxDepth: 3})
		if err == nil || !strings.Contains(err.Error(), want+" of the JSON text") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

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
