package bench

import (
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// floatVerdicts measures conversions to float32 of data in memory, not in cache, relative to copying
// the output.
func floatVerdicts() (all []verdict) {
	const rows, columns = 4096, 4096
	shape := tensor.Shape{rows, columns}
	for _, c := range []struct {
		name string
		d    tensor.DType
		q    *tensor.Quantization
	}{
		{"float16", tensor.Float16, nil},
		{"bfloat16", tensor.BFloat16, nil},
		{"int8", tensor.Int8, &tensor.Quantization{Scales: []float32{0.01}, Axis: tensor.PerTensor}},
		{"int8/last-axis", tensor.Int8, &tensor.Quantization{Scales: scales(columns), Axis: 1}},
	} {
		all = append(all, verdict{name: "to-float32/" + c.name, limit: 1.4, figure: func(b *testing.B) float64 {
			in := ordinary(rows*columns, c.d)
			out, from := make([]float32, rows*columns), make([]float32, rows*columns)
			for i := range from {
				from[i] = 1 // otherwise the slice maps to the zero page
			}
			convert := func() error { return tensor.Dequantize(out, in, c.d, shape, c.q) }
			if c.q == nil {
				v, err := tensor.FromBytes("", c.d, shape, in)
				if err != nil {
					b.Fatal(err)
				}
				convert = func() error { _, err := tensor.Decode(out, v); return err }
			}
			return floor.Pairs(b, floor.Rounds, convert, func() error { copy(out, from); return nil })
		}})
	}
	return all
}

func scales(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = 0.01 + float32(i)*1e-6
	}
	return s
}

// ordinary returns n elements of type d that resemble weights: small, of both signs.
func ordinary(n int, d tensor.DType) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n*int(d.Size()))
	if d == tensor.Int8 {
		for i := range out {
			out[i] = byte(int8(r.NormFloat64() * 30))
		}
		return out
	}
	if err := tensor.Encode(out, d, weights(n)); err != nil {
		panic(err)
	}
	return out
}

// weights returns n small numbers of both signs.
func weights(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(r.NormFloat64() * 0.05)
	}
	return f
}

// noise returns n random bytes.
func noise(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(p)
	return p
}
