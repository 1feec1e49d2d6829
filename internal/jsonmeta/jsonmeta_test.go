package jsonmeta

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

func parse(text string) (driver.Metadata, error) {
	return Parse([]byte(text), Options{LoneSurrogates: true})
}

func nested(n int) string {
	return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		lone       bool
		ok         bool
	}{
		{name: "empty object", text: `{}`, ok: true},
		{name: "white space around", text: " \t\r\n{ \"a\" : [ ] , \"b\" : { } } \n", ok: true},
		{name: "all kinds", text: `{"s":"x","n":-1.5e+3,"t":true,"f":false,"z":null,"a":[1,2,[]],"o":{"a":1,"a":2}}`, ok: true},
		{name: "escapes", text: `{"a":"\"\\\/\b\f\n\r\tA\ud83d\ude00"}`, ok: true},
		{name: "depth 1000", text: nested(1000), ok: true},
		{name: "depth 1001", text: nested(1001)},
		{name: "objects 1001 deep", text: strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001)},
		{name: "lone surrogate accepted", text: `{"a":"\ud800x"}`, lone: true, ok: true},
		{name: "lone high surrogate", text: `{"a":"\ud800"}`},
		{name: "lone low surrogate", text: `{"a":"\udc00"}`},
		{name: "two high surrogates", text: `{"a":"\ud800\ud800"}`},
		{name: "lone surrogate in a key", text: `{"\ud800":1}`},
		{name: "lone surrogate in a key, accepted elsewhere", text: `{"a":{"\ud800":1},"\ud800":1}`, lone: true},
		{name: "lone surrogate in an inner key accepted", text: `{"a":{"\ud800":1}}`, lone: true, ok: true},
		{name: "empty", text: ``},
		{name: "byte order mark", text: "\ufeff{}"},
		{name: "array", text: `[]`},
		{name: "text after it", text: `{} {}`},
		{name: "NUL after it", text: "{}\x00"},
		{name: "duplicate key", text: `{"a":1,"b":2,"a":3}`},
		{name: "duplicate key by escape", text: `{"a":1,"\u0061":3}`},
		{name: "NUL key", text: `{"a\u0000":1}`},
		{name: "nested duplicate and NUL keys", text: `{"o":{"a\u0000":1,"a\u0000":2}}`, ok: true},
		{name: "invalid UTF-8", text: "{\"a\":\"\xff\"}"},
		{name: "overlong UTF-8", text: "{\"a\":\"\xc0\x80\"}"},
		{name: "surrogate in UTF-8", text: "{\"a\":\"\xed\xa0\x80\"}"},
		{name: "replacement character itself", text: "{\"a\":\"\ufffd\"}", ok: true},
		{name: "control character", text: "{\"a\":\"\n\"}"},
		{name: "bad escape", text: `{"a":"\x"}`},
		{name: "bad unicode escape", text: `{"a":"\u12g4"}`},
		{name: "signed unicode escape", text: `{"a":"\u+123"}`},
		{name: "short unicode escape", text: `{"a":"\u12`},
		{name: "open string", text: `{"a":"`},
		{name: "open object", text: `{"a":1`},
		{name: "open array", text: `{"a":[1`},
		{name: "no value", text: `{"a":`},
		{name: "no colon", text: `{"a" 1}`},
		{name: "trailing comma", text: `{"a":1,}`},
		{name: "trailing comma in array", text: `{"a":[1,]}`},
		{name: "no comma", text: `{"a":1 "b":2}`},
		{name: "no comma in array", text: `{"a":[1 2]}`},
		{name: "unquoted key", text: `{a:1}`},
		{name: "leading zero", text: `{"a":01}`},
		{name: "plus", text: `{"a":+1}`},
		{name: "no digit", text: `{"a":-}`},
		{name: "no fraction", text: `{"a":1.}`},
		{name: "no exponent", text: `{"a":1e}`},
		{name: "NaN", text: `{"a":NaN}`},
		{name: "bad literal", text: `{"a":tru}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), Options{LoneSurrogates: tt.lone})
			if (err == nil) != tt.ok {
				t.Errorf("Parse: %v", err)
			}
			if err != nil && !errors.Is(err, tensor.ErrCorrupt) {
				t.Errorf("%v does not wrap ErrCorrupt", err)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	text := `{"z":"\u0061\ud83d\ude00\n","a":1,"big":9223372036854775808,"neg":-9223372036854775808,"zero":-0,
		"f":1.50,"e":1e5,"t":true,"x":false,"n":null,"o":{"k": [1]},"l":[ ],"k\u0065y":""}`
	want := format.Metadata{
		{Key: "z", Value: "a\U0001f600\n"}, {Key: "a", Value: int64(1)}, {Key: "big", Value: json.Number("9223372036854775808")},
		{Key: "neg", Value: int64(-9223372036854775808)}, {Key: "zero", Value: json.Number("-0")}, {Key: "f", Value: json.Number("1.50")},
		{Key: "e", Value: json.Number("1e5")}, {Key: "t", Value: true}, {Key: "x", Value: false}, {Key: "n", Value: nil},
		{Key: "o", Value: json.RawMessage(`{"k": [1]}`)}, {Key: "l", Value: json.RawMessage(`[ ]`)}, {Key: "key", Value: ""},
	}
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
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
