package plan

import (
	"encoding/json"
	"math"
	"testing"
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
