package tensor

import (
	"math"
	"sync"

	"github.com/weightmap/weightmap/internal/vector"
)

// The two 8-bit floating-point types are those of "FP8 Formats for Deep Learning" (2022), which safetensors, ONNX
// and PyTorch use. As views such elements, and those of Bool, as uint8; Decode converts them.

// float8E4M3FN has 4 bits of exponent (bias 7), 3 of fraction, no infinities; a NaN has all bits but the sign set.
func float8E4M3FN(b uint16) float32 {
	if b&0x7f == 0x7f {
		return float32(math.NaN())
	}
	return F16(b&0x80<<8|b&0x7f<<7).Float32() * (1 << 8)
}

// float8E5M2 has 5 bits of exponent (bias 15), 2 of fraction, infinities and NaNs as in IEEE 754: it is the upper half
// of a float16.
func float8E5M2(b uint16) float32 { return F16(b << 8).Float32() }

// boolean is 1 for any byte but 0.
func boolean(b uint16) float32 { return float32(min(b, 1)) }

// byTable converts bytes by a table of the values of all 256. All NaNs of a sign are the same.
func byTable(value func(uint16) float32) func([]float32, []byte, bool) {
	table := sync.OnceValue(func() *[256]float32 {
		var t [256]float32
		for b := range t {
			t[b] = value(uint16(b))
			if t[b] != t[b] {
				t[b] = float32(math.Copysign(math.NaN(), float64(127-b)))
			}
		}
		return &t
	})
	return func(dst []float32, b []byte, _ bool) { vector.Lookup(dst, b, table()) }
}
