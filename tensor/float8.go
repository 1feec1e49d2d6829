package tensor

import (
	"math"
	"sync"
)

// The two 8-bit floating-point types of "FP8 Formats for Deep Learning" (2022),
// as safetensors, ONNX and PyTorch have them. Elements are viewed as uint8; Decode
// gives their values.

// float8Values returns the values of all 256 bytes of a type, computed at first use.
func float8Values(d DType) *[256]float32 {
	if d == Float8E4M3FN {
		return float8E4M3FN()
	}
	return float8E5M2()
}

var (
	// 4 bits of exponent (bias 7), 3 of fraction, no infinities, NaN only with all bits but the sign set.
	float8E4M3FN = sync.OnceValue(func() *[256]float32 {
		t := float8Table(4, 3)
		t[0x7f], t[0xff] = float32(math.NaN()), float32(math.Copysign(math.NaN(), -1))
		return t
	})
	// 5 bits of exponent (bias 15), 2 of fraction, infinities and NaNs as in IEEE 754.
	float8E5M2 = sync.OnceValue(func() *[256]float32 {
		t := float8Table(5, 2)
		for _, sign := range []int{0, 0x80} {
			t[sign|0x7c] = float32(math.Inf(-sign))
			for nan := 0x7d; nan < 0x80; nan++ {
				t[sign|nan] = float32(math.Copysign(math.NaN(), float64(-sign)))
			}
		}
		return t
	})
)

// float8Table computes the values of a type that has nothing but numbers.
func float8Table(exponentBits, fractionBits int) *[256]float32 {
	var t [256]float32
	bias := 1<<(exponentBits-1) - 1
	for b := range t {
		exponent := b >> fractionBits & (1<<exponentBits - 1)
		fraction := b & (1<<fractionBits - 1)
		mantissa, e := fraction, 1-bias // subnormal
		if exponent > 0 {
			mantissa, e = fraction|1<<fractionBits, exponent-bias
		}
		v := math.Ldexp(float64(mantissa), e-fractionBits)
		if b >= 128 {
			v = math.Copysign(v, -1)
		}
		t[b] = float32(v)
	}
	return &t
}
