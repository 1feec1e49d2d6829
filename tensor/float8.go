package tensor

import (
	"math"
	"sync"
)

// tables have the values of all bytes of Bool and of the two 8-bit floating-point types of "FP8
// Formats for Deep Learning" (2022), which safetensors, ONNX and PyTorch use. As views such
// elements as uint8; Decode converts them.
var tables = map[DType]func() *[256]float32{
	// Any byte but 0 is true.
	Bool: byteTable(func(b uint16) float32 { return float32(min(b, 1)) }),
	// 4 bits of exponent (bias 7), 3 of fraction, no infinities; a NaN has all bits but the sign
	// set.
	Float8E4M3FN: byteTable(func(b uint16) float32 {
		if b&0x7f == 0x7f {
			return float32(math.NaN())
		}
		return F16(b&0x80<<8|b&0x7f<<7).Float32() * (1 << 8)
	}),
	// 5 bits of exponent (bias 15), 2 of fraction, infinities and NaNs as in IEEE 754: the upper
	// half of a float16.
	Float8E5M2: byteTable(func(b uint16) float32 { return F16(b << 8).Float32() }),
}

// byteTable returns a function that returns the values of all 256 bytes, which its first call
// computes. All NaNs of a sign are the same.
func byteTable(value func(uint16) float32) func() *[256]float32 {
	return sync.OnceValue(func() *[256]float32 {
		var t [256]float32
		for b := range t {
			t[b] = value(uint16(b))
			if t[b] != t[b] {
				t[b] = float32(math.Copysign(math.NaN(), float64(127-b)))
			}
		}
		return &t
	})
}
