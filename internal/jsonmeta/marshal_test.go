package jsonmeta

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

func TestMarshal(t *testing.T) {
	m := format.Metadata{
		{Key: "s\"\\\n", Value: "<é\x01>"}, {Key: "i", Value: int64(-7)}, {Key: "t", Value: true}, {Key: "n", Value: nil},
		{Key: "num", Value: json.Number("1.50e+7")}, {Key: "raw", Value: json.RawMessage(`{"a" : [1, "<"]}`)}, {Key: "f", Value: 0.25},
		{Key: "inf", Value: math.Inf(-1)},
	}
	got, err := Marshal(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"s\"\\\n":"<é\u0001>","i":-7,"t":true,"n":null,"num":1.50e+7,"raw":{"a" : [1, "<"]},"f":0.25,"inf":"-Inf"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	back, err := Parse(got, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m[6].Value, m[7].Value = json.Number("0.25"), "-Inf"
	if diff := cmp.Diff(m, back); diff != "" {
		t.Error(diff)
	}
}

func TestMarshalRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    format.Metadata
		want error
	}{
		{"duplicate key", format.Metadata{{Key: "a"}, {Key: "a"}}, tensor.ErrCorrupt},
		{"NUL key", format.Metadata{{Key: "a\x00"}}, tensor.ErrCorrupt},
		{"key not UTF-8", format.Metadata{{Key: "\xff"}}, tensor.ErrCorrupt},
		{"lone surrogate", format.Metadata{{Key: "a", Value: json.RawMessage(`"\ud800"`)}}, tensor.ErrCorrupt},
		{"unknown type", format.Metadata{{Key: "a", Value: 1i}}, format.ErrUnsupported},
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
