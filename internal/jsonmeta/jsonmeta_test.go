package jsonmeta

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func parse(text string) (schema.Metadata, error) {
	return Parse([]byte(text), Options{LoneSurrogates: true})
}

func nested(n int) string {
	return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
}

// TestParse: what encoding/json accepts is accepted, but for what the package comment lists.
func TestParse(t *testing.T) {
	for _, text := range []string{
		`{}`, " \t\r\n{ \"a\" : [ ] , \"b\" : { } } \n", `{"s":"x","n":-1.5e+3,"t":true,"f":false,"z":null,"a":[1,2,[]],"o":{"a":1,"a":2}}`,
		`{"a":"\"\\\/\b\f\n\r\tA\ud83d\ude00"}`, nested(1000), `{"o":{"a\u0000":1,"a\u0000":2}}`, "{\"a\":\"\ufffd\"}",
		``, "\ufeff{}", `{} {}`, "{}\x00", "{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u+123"}`, `{"a":"\u12`, `{"a":"`, `{"a":1`, `{"a":[1`,
		`{"a":`, `{"a" 1}`, `{"a":1,}`, `{"a":[1,]}`, `{"a":1 "b":2}`, `{"a":[1 2]}`, `{a:1}`, `{"a":01}`, `{"a":+1}`, `{"a":-}`, `{"a":1.}`, `{"a":1e}`, `{"a":NaN}`, `{"a":tru}`,
	} {
		if _, err := Parse([]byte(text), Options{}); (err == nil) != json.Valid([]byte(text)) || err != nil && !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for name, text := range map[string]string{
		"depth 1001": nested(1001), "objects 1001 deep": strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001),
		"lone high surrogate": `{"a":"\ud800"}`, "lone low surrogate": `{"a":"\udc00"}`, "two high surrogates": `{"a":"\ud800\ud800"}`, "lone surrogate in a key": `{"\ud800":1}`,
		"array": `[]`, "duplicate key": `{"a":1,"b":2,"a":3}`, "duplicate key by escape": `{"a":1,"\u0061":3}`, "NUL key": `{"a\u0000":1}`,
		"invalid UTF-8": "{\"a\":\"\xff\"}", "overlong UTF-8": "{\"a\":\"\xc0\x80\"}", "surrogate in UTF-8": "{\"a\":\"\xed\xa0\x80\"}",
	} {
		if _, err := Parse([]byte(text), Options{}); !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, ok := range map[string]bool{`{"a":"\ud800x"}`: true, `{"a":{"\ud800":1}}`: true, `{"a":{"\ud800":1},"\ud800":1}`: false} {
		if _, err := parse(text); (err == nil) != ok {
			t.Errorf("%s with lone surrogates: %v", text, err)
		}
	}
}

// TestDuplicate: the error is at the second key of the first pair.
func TestDuplicate(t *testing.T) {
	if _, err := parse(`{"c":1,"b":2,"a":3,"b":4,"a":5,"b":6}`); err == nil || !strings.Contains(err.Error(), "a key occurs twice at byte 19 ") {
		t.Error(err)
	}
}

func TestMetadata(t *testing.T) {
	text := `{"z":"\u0061\ud83d\ude00\n","a":1,"big":9223372036854775808,"neg":-9223372036854775808,"zero":-0,
		"f":1.50,"e":1e5,"t":true,"x":false,"n":null,"o":{"k": [1]},"l":[ ],"k\u0065y":""}`
	want := schema.Metadata{
		{Key: "z", Value: "a\U0001f600\n"}, {Key: "a", Value: int64(1)}, {Key: "big", Value: json.Number("9223372036854775808")},
		{Key: "neg", Value: int64(-9223372036854775808)}, {Key: "zero", Value: json.Number("-0")}, {Key: "f", Value: json.Number("1.50")},
		{Key: "e", Value: json.Number("1e5")}, {Key: "t", Value: true}, {Key: "x", Value: false}, {Key: "n", Value: nil},
		{Key: "o", Value: json.RawMessage(`{"k": [1]}`)}, {Key: "l", Value: json.RawMessage(`[ ]`)}, {Key: "key", Value: ""},
	}
	got, err := parse(text)
	expect.OK(t, err)
	expect.Equal(t, want, got)
	if _, err := parse("[1]"); err == nil {
		t.Error("an array is accepted")
	}
	for i := range text[:len(text)-1] {
		if _, err := parse(text[:i]); err == nil {
			t.Fatalf("the first %d bytes are accepted", i)
		}
	}
}

// FuzzParse compares Parse with encoding/json: json.Valid must accept what Parse accepts.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,2.5e-3,"\ud83d\ude00",{"b":null}],"c":true}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Parse(b, Options{}); err == nil && !json.Valid(b) {
			t.Fatalf("encoding/json refuses %q", b)
		}
	})
}

func lookup(text []byte, key string) []byte {
	m, _ := Parse(text, Options{LoneSurrogates: true})
	v, _ := m.Get(key)
	raw, _ := v.(json.RawMessage)
	return raw
}

func TestLookup(t *testing.T) {
	text := []byte(` {"a": {"b": 1}, "tensor\u005fnames" : ["x", "\u0041\n", "\ud800", 3, []] , "b":"y"}`)
	for key, want := range map[string]string{"a": `{"b": 1}`, "c": ""} {
		if diff := cmp.Diff(want, string(lookup(text, key))); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	type element struct {
		Text      string
		Whole, OK bool
	}
	var got []element
	ok := Elements(lookup(text, "tensor_names"), func(raw []byte) bool {
		b, whole, ok := Text(raw)
		got = append(got, element{string(b), whole, ok})
		return true
	})
	want := []element{{"x", true, true}, {"A\n", true, true}, {"\ufffd", false, true}, {}, {}}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(ok, diff)
	}
	if Elements([]byte(`"x"`), func([]byte) bool { return true }) || Elements([]byte(`[1]`), func([]byte) bool { return false }) {
		t.Error("Elements of no array, or stopped, is true")
	}
	if !Elements([]byte(`[ ]`), func([]byte) bool { return false }) {
		t.Error("Elements of an empty array is false")
	}
}

func TestMarshal(t *testing.T) {
	m := schema.Metadata{
		{Key: "s\"\\\n", Value: "<é\x01>"}, {Key: "i", Value: int64(-7)}, {Key: "t", Value: true}, {Key: "n", Value: nil},
		{Key: "num", Value: json.Number("1.50e+7")}, {Key: "raw", Value: json.RawMessage(`{"a" : [1, "<"]}`)}, {Key: "f", Value: 0.25},
		{Key: "inf", Value: math.Inf(-1)},
	}
	got, err := Marshal(m, Options{})
	expect.OK(t, err)
	want := `{"s\"\\\n":"<é\u0001>","i":-7,"t":true,"n":null,"num":1.50e+7,"raw":{"a" : [1, "<"]},"f":0.25,"inf":"-Inf"}`
	expect.Equal(t, want, string(got))
	back, err := Parse(got, Options{})
	expect.OK(t, err)
	m[6].Value, m[7].Value = json.Number("0.25"), "-Inf"
	expect.Equal(t, m, back)
}

var errWhy = errors.New("why it has no JSON form")

func TestMarshalRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    schema.Metadata
		want error
	}{
		{"duplicate key", schema.Metadata{{Key: "a"}, {Key: "a"}}, tensor.ErrCorrupt},
		{"NUL key", schema.Metadata{{Key: "a\x00"}}, tensor.ErrCorrupt},
		{"key not UTF-8", schema.Metadata{{Key: "\xff"}}, tensor.ErrCorrupt},
		{"lone surrogate", schema.Metadata{{Key: "a", Value: json.RawMessage(`"\ud800"`)}}, tensor.ErrCorrupt},
		{"the error of Value", schema.Metadata{{Key: "a", Value: errWhy}}, errWhy},
		{"no type of JSON", schema.Metadata{{Key: "a", Value: struct{}{}}}, tensor.ErrUnsupported},
		{"unknown type", schema.Metadata{{Key: "a", Value: 1i}}, tensor.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Marshal(tt.m, Options{}); !errors.Is(err, tt.want) {
				t.Errorf("Marshal: %v, want %v", err, tt.want)
			}
		})
	}
}

// TestFloat checks that a number becomes a float64 only if that is exact.
func TestFloat(t *testing.T) {
	for text, want := range map[string]bool{
		"0.1": true, "5.0": true, "5": true, "-0.0": true, "1e+21": true, "1e-07": true, "1e-7": true, "1e+300": true, "0.3333333333333333": true,
		"0.10": false, "1E5": false, "0.33333333333333333": false, "18446744073709551615": false, "1e999": false, "": false, "x": false,
	} {
		if x, exact := Float(text); exact != want {
			t.Errorf("%s: %v, %v", text, x, exact)
		}
	}
}
