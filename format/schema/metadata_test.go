package schema

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

func TestMetadataJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    Metadata
		want string
	}{
		{"nil", nil, `{}`},
		{"file order", Metadata{{"z", int64(1)}, {"a", int64(2)}}, `{"z":1,"a":2}`},
		{"kinds", Metadata{{"s", "x"}, {"b", true}, {"i", int64(math.MinInt64)}, {"f", 0.5}, {"n", nil}},
			`{"s":"x","b":true,"i":-9223372036854775808,"f":0.5,"n":null}`},
		{"not in JSON", Metadata{{"nan", math.NaN()}, {"inf", math.Inf(1)}, {"neg", math.Inf(-1)}, {"nan32", float32(math.NaN())}},
			`{"nan":"NaN","inf":"+Inf","neg":"-Inf","nan32":"NaN"}`},
		{"lists", Metadata{{"f", []float64{1, math.NaN()}}, {"g", []float32{0.1, float32(math.Inf(-1))}}, {"i", []int64{1, 2}}},
			`{"f":[1.0,"NaN"],"g":[0.1,"-Inf"],"i":[1,2]}`},
		{"twice", Metadata{{"k", int64(1)}, {"k", int64(2)}}, `{"k":1,"k":2}`},
		{"integers beyond float64", Metadata{{"i", int64(1<<62 + 1)}}, `{"i":4611686018427387905}`},
	} {
		got, err := json.Marshal(tt.m)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	for name, m := range map[string]Metadata{
		"a channel":  {{"c", make(chan int)}},
		"broken raw": {{"r", json.RawMessage(`{`)}},
	} {
		if got, err := json.Marshal(m); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestMetadataGet(t *testing.T) {
	m := Metadata{{"a", int64(1)}, {"b", nil}, {"a", int64(2)}}
	if v, ok := m.Get("a"); v != int64(1) || !ok {
		t.Errorf("a = %v, %v", v, ok)
	}
	if v, ok := m.Get("b"); v != nil || !ok {
		t.Errorf("b = %v, %v", v, ok)
	}
	if v, ok := m.Get("c"); v != nil || ok {
		t.Errorf("c = %v, %v", v, ok)
	}
}

func TestDims(t *testing.T) {
	dims := append(FixedDims(3, 0, DynamicDim), Dim{Size: DynamicDim, Symbol: "batch"})
	got, err := json.Marshal(dims)
	if want := `[3,0,-1,"batch"]`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if FixedDims() == nil {
		t.Error("the dims of a scalar are nil, which means unknown")
	}
}

// TestNumber: every number of Go, with its value.
func TestNumber(t *testing.T) {
	for _, test := range []struct{ v, want any }{
		{int(-3), int64(-3)}, {int8(-128), int64(-128)}, {int16(-3), int64(-3)}, {int32(math.MinInt32), int64(math.MinInt32)}, {int64(5), int64(5)},
		{uint(3), int64(3)}, {uint8(255), int64(255)}, {uint16(65535), int64(65535)}, {uint32(math.MaxUint32), int64(math.MaxUint32)},
		{uint64(math.MaxInt64), int64(math.MaxInt64)}, {uint64(1 << 63), json.Number("9223372036854775808")}, {uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{uintptr(7), int64(7)}, {float32(0.5), 0.5}, {float32(0.1), 0.10000000149011612}, {0.1, 0.1},
		{"3", "3"}, {true, true}, {nil, nil}, {json.Number("3"), json.Number("3")},
	} {
		if got := Number(test.v); got != test.want {
			t.Errorf("%T(%v) = %T(%v), want %T(%v)", test.v, test.v, got, got, test.want, test.want)
		}
	}
}

// readers are the ways to read a value, with no value for an error.
var readers = map[string]func(m Metadata) (any, error){
	"Int64":   func(m Metadata) (any, error) { return m.Int64("k") },
	"Float64": func(m Metadata) (any, error) { return m.Float64("k") },
	"Text":    func(m Metadata) (any, error) { return m.Text("k") },
	"Strings": func(m Metadata) (any, error) { return m.Strings("k") },
}

// TestMetadataValues reads values of all types as all types; what is not named is refused.
func TestMetadataValues(t *testing.T) {
	type values map[string]any
	raw := func(s string) any { return json.RawMessage(s) }
	for _, test := range []struct {
		name  string
		value any
		want  values
	}{
		{"an integer", int64(-3), values{"Int64": int64(-3), "Float64": -3.0, "Text": "-3"}},
		{"another integer", uint16(3), values{"Int64": int64(3), "Float64": 3.0, "Text": "3"}},
		{"2^53+1", int64(1<<53 + 1), values{"Int64": int64(1<<53 + 1), "Text": "9007199254740993"}},
		{"2^62", int64(1 << 62), values{"Int64": int64(1 << 62), "Float64": 0x1p62, "Text": "4611686018427387904"}},
		{"the largest", int64(math.MaxInt64), values{"Int64": int64(math.MaxInt64), "Text": "9223372036854775807"}},
		{"the least", int64(math.MinInt64), values{"Int64": int64(math.MinInt64), "Float64": -0x1p63, "Text": "-9223372036854775808"}},
		{"beyond int64", uint64(1 << 63), values{"Float64": 0x1p63, "Text": "9223372036854775808"}},
		{"the largest of all", uint64(math.MaxUint64), values{"Text": "18446744073709551615"}},
		{"a fraction", 0.1, values{"Float64": 0.1, "Text": "0.1"}},
		{"a whole float", 3.0, values{"Int64": int64(3), "Float64": 3.0, "Text": "3.0"}},
		{"2^63 as a float", 0x1p63, values{"Float64": 0x1p63, "Text": "9223372036854776000.0"}},
		{"infinity", math.Inf(1), values{"Float64": math.Inf(1), "Text": "+Inf"}},
		{"a number of JSON", json.Number("1.50e3"), values{"Int64": int64(1500), "Float64": 1500.0, "Text": "1.50e3"}},
		{"with digits to lose", json.Number("9007199254740993.0"), values{"Float64": 0x1p53, "Text": "9007199254740993.0"}},
		{"almost an integer", json.Number("3.00000000000000001"), values{"Float64": 3.0, "Text": "3.00000000000000001"}},
		{"too large a number", json.Number("1e400"), values{"Text": "1e400"}},
		{"zeros", json.Number("-0"), values{"Int64": int64(0), "Float64": 0.0, "Text": "-0"}},
		{"a text", "ten", values{"Text": "ten"}},
		{"no text", "", values{"Text": ""}},
		{"an integer as text", "007", values{"Int64": int64(7), "Float64": 7.0, "Text": "007"}},
		{"a number as text", "0.1", values{"Float64": 0.1, "Text": "0.1"}},
		{"a list as text", `["a","b"]`, values{"Text": `["a","b"]`, "Strings": []string{"a", "b"}}},
		{"a list", raw(`["a","\u00e9"]`), values{"Text": `["a","\u00e9"]`, "Strings": []string{"a", "é"}}},
		{"an empty list", raw(`[]`), values{"Text": `[]`, "Strings": []string{}}},
		{"a list of Go", []string{"a"}, values{"Strings": []string{"a"}}},
		{"a list with others", raw(`["a",1]`), values{"Text": `["a",1]`}},
		{"a list with null", raw(`["a",null]`), values{"Text": `["a",null]`}},
		{"an object", raw(`{"a":1}`), values{"Text": `{"a":1}`}},
		{"a truth value", true, values{"Text": "true"}},
		{"null", nil, values{}},
		{"a channel", make(chan int), values{}},
	} {
		m := Metadata{{"other", "x"}, {"k", test.value}, {"k", "the second is not looked at"}}
		for name, read := range readers {
			got, err := read(m)
			if want, ok := test.want[name]; ok {
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Errorf("%s of %s: %v (-want +got)\n%s", name, test.name, err, d)
				}
				continue
			}
			var e *tensor.Error
			if !errors.Is(err, tensor.ErrUnsupported) || !errors.As(err, &e) || e.Field != `metadata "k"` {
				t.Errorf("%s of %s = %v, %v, want ErrUnsupported", name, test.name, got, err)
			}
		}
	}
	for name, read := range readers {
		if got, err := read(Metadata{{"other", "x"}}); !errors.Is(err, tensor.ErrNotFound) {
			t.Errorf("%s without the key: %v, %v", name, got, err)
		}
	}
}
