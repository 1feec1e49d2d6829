package gguf

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
)

// randomValue returns a value of any type that the format has.
func randomValue(r *rand.Rand, depth int) any {
	texts := func() []string {
		out := make([]string, r.IntN(5))
		for i := range out {
			out[i] = string([]rune{rune(r.IntN(0x250)), rune(r.IntN(0x2600))})
		}
		return out
	}
	switch r.IntN(16) {
	case 0:
		return uint8(r.Uint32())
	case 1:
		return int8(r.Uint32())
	case 2:
		return uint16(r.Uint32())
	case 3:
		return int16(r.Uint32())
	case 4:
		return r.Uint32()
	case 5:
		return int32(r.Uint32())
	case 6:
		return float32(r.NormFloat64())
	case 7:
		return r.IntN(2) == 0
	case 8:
		return "text" + string(rune(r.IntN(0x2600)))
	case 9:
		return r.Uint64()
	case 10:
		return Int64(r.Uint64())
	case 11:
		return Float64(r.NormFloat64())
	case 12:
		return texts()
	case 13:
		return []int32{int32(r.Uint32()), int32(r.Uint32())}
	case 14:
		return []float64{r.NormFloat64()}
	}
	if depth == maxDepth {
		return []bool{true}
	}
	out := make([]any, r.IntN(4))
	for i := range out {
		for out[i] == nil {
			if v := randomValue(r, depth+1); !isScalar(v) {
				out[i] = v
			}
		}
	}
	return out
}

func isScalar(v any) bool {
	_, isList := typeOf(v)
	return !isList
}

// TestProperty writes random models, reads them, and writes what was read.
func TestProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		p := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: dtypes, Zero: r.IntN(3) == 0})
		for i := range r.IntN(6) {
			p.Metadata = append(p.Metadata, format.Entry{Key: string(rune('a' + i)), Value: randomValue(r, 1)})
		}
		data := map[string][]byte{}
		for _, i := range p.Tensors {
			i.Size, _ = i.ByteSize()
			data[i.Name] = formattest.Fill(i)
		}
		o := &WriteOptions{Alignment: []uint32{0, 8, 16, 64, 4096}[r.IntN(5)]}
		b := write(t, p, o, data)
		m := open(t, b)
		typed := m.Typed()
		if o.Alignment != 0 {
			typed = typed[1:]
		}
		if diff := cmp.Diff(p.Metadata, typed); diff != "" && len(typed)+len(p.Metadata) > 0 {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(data, dataOf(t, m)); diff != "" {
			t.Fatal(diff)
		}
		again, err := format.PlanOf(m.Model)
		if err != nil {
			t.Fatal(err)
		}
		again.Metadata = m.Typed()
		if diff := cmp.Diff(b, write(t, again, nil, data)); diff != "" {
			t.Fatal(diff)
		}
	}
}
