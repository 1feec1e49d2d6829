package jsonmeta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"3 ab text x\n", "23 n 9223372036854775807", "47 z null", "76 l 0 0", "76 l 1 10"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
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
