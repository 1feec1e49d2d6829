package driver

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// TestJSONText: what jsonText writes is what encoding/json writes.
func TestJSONText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []any{
		nil, true, false, int64(math.MinInt64), json.Number(""), json.Number("-1.50e+3"),
		"", "plain", "a\"b\\c/d\n\r\t\b\f\x00\x1f\x7f", "<a href='x'>&</a>", "\u2028 \u2029 \ufffd", "\xff half \xc3", "ünï ✓ 😀",
		[]int64(nil), []int64{}, []int64{-1, 2}, []int32(nil), []int32{math.MinInt32}, []string(nil), []string{"<", ""}, []*Graph(nil), (*Graph)(nil),
		json.RawMessage(nil), json.RawMessage(" {\"a\" : [ 1 , \"<b> \\u003c\" ] }\n"), []float64{0, 1e21}, []float32{1e-7},
	}
	for _, f := range []float64{0, 1, -0.5, 1e-6, 9.99e-7, 1e-9, 1e-10, 1e20, 1e21, 123456789.125, math.MaxFloat64, math.SmallestNonzeroFloat64, 16777216, math.Copysign(0, -1)} {
		values = append(values, f, float32(f))
	}
	for range 2000 {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			values = append(values, f)
		}
		if f := math.Float32frombits(r.Uint32()); f == f && !math.IsInf(float64(f), 0) {
			values = append(values, f)
		}
		text := make([]rune, r.IntN(5))
		for i := range text {
			text[i] = rune(r.IntN(0x3000))
		}
		values = append(values, string(text))
	}
	for _, v := range values {
		if f, ok := v.(float32); ok && math.IsInf(float64(f), 0) {
			continue // a string in ours, an error there
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var j jsonText
		j.value(v)
		if got, err := j.done(); string(got) != string(want) || err != nil {
			t.Errorf("%#v: %s, %v, want %s", v, got, err, want)
		}
	}
	for name, v := range map[string]any{
		"a type of nobody's": make(chan int), "no JSON": json.RawMessage("{"), "two values": json.RawMessage("1 2"),
		"no number": json.Number("true"), "text for a number": json.Number(`"1"`), "half a number": json.Number("1e"),
		"a number and more": json.Number("1,2"), "space and a number": json.Number(" 1"),
	} {
		var j jsonText
		j.value(v)
		if got, err := j.done(); err == nil || got != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}
