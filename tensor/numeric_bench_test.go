package tensor

import (
	"math/rand/v2"
	"testing"
)

// benchFloats returns a million layer-scaled normal values.
func benchFloats() []float32 {
	r := rand.New(rand.NewPCG(1, 1))
	f := make([]float32, 1<<20)
	for i := range f {
		f[i] = float32(r.NormFloat64() * 0.05)
	}
	return f
}

// BenchmarkFloat16 counts the bytes of the float32 side.
func BenchmarkFloat16(b *testing.B) {
	f := benchFloats()
	p := make([]byte, 2*len(f))
	for _, s := range smalls {
		b.Run("encode/"+s.name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(f)))
			for b.Loop() {
				s.enc(p, f)
			}
		})
		b.Run("decode/"+s.name, func(b *testing.B) {
			s.enc(p, f)
			dst := make([]float32, len(f))
			b.SetBytes(int64(4 * len(f)))
			for b.Loop() {
				s.dec(dst, p, false)
			}
		})
	}
}
