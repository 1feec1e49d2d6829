package jsontext

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// write returns the JSON text of a value.
func write(t *testing.T, w Writer, v any) (string, error) {
	t.Helper()
	if !w.Value(v) {
		t.Fatalf("%T is not written", v)
	}
	b, err := w.Done()
	return string(b), err
}

func TestValue(t *testing.T) {
	for want, v := range map[string]any{
		"null": nil, "true": true, "-9223372036854775808": int64(math.MinInt64), "-1.50e+3": json.Number("-1.50e+3"),
		`""`: "", "\"a\\\"b\\\\c/d\\n\\r\\t\\b\\f\\u0000\\u001f\u007f<é\u2028\"": "a\"b\\c/d\n\r\t\b\f\x00\x1f\x7f<é\u2028",
		"[]": []int64(nil), "[-1,2]": []int64{-1, 2}, "[-2147483648]": []int32{math.MinInt32}, `["<",""]`: []string{"<", ""},
		` {"a" : [ 1 ] }`: json.RawMessage(` {"a" : [ 1 ] }`), "[0.0,1e+21]": []float64{0, 1e21}, "[1e-07]": []float32{1e-7},
		"0.1": float32(0.1), "5.0": 5.0, "-0.0": math.Copysign(0, -1), "1e-09": 1e-9, "100000000000000000000.0": 1e20, "0.000001": 1e-6,
		`"NaN"`: math.NaN(), `"-Inf"`: float32(math.Inf(-1)),
	} {
		if got, err := write(t, Writer{}, v); got != want || err != nil {
			t.Errorf("%#v: %s, %v, want %s", v, got, err, want)
		}
	}
	if got, err := write(t, Writer{}, json.RawMessage(nil)); got != "null" || err != nil {
		t.Error(got, err)
	}
	if new(Writer).Value(1i) || new(Writer).Value(make(chan int)) {
		t.Error("types that JSON lacks are written")
	}
}

func TestRefuses(t *testing.T) {
	for name, v := range map[string]any{
		"no UTF-8": "\xff", "no JSON": json.RawMessage("{"), "two values": json.RawMessage("1 2"), "the end of the object": json.RawMessage(`1},{"b":2`),
		"nothing": json.RawMessage{}, "no number": json.Number("true"), "text for a number": json.Number(`"1"`), "half a number": json.Number("1e"),
		"a number and more": json.Number("1,2"), "space and a number": json.Number(" 1"), "no digits": json.Number(""), "in a list": []string{"a", "\xff"},
	} {
		if got, err := write(t, Writer{}, v); !errors.Is(err, tensor.ErrCorrupt) || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	var w Writer
	w.Fail(tensor.ErrLimit)
	w.Text("\xff")
	if _, err := w.Done(); err != tensor.ErrLimit {
		t.Error("not the first error:", err)
	}
}
