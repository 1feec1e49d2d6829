package tensor

import (
	"math"
	"sync"
)

// The two 8-bit floating-point types of "FP8 Formats for Deep Learning" (2022),
// as safetensors, ONNX and PyTorch have them. Elements are viewed as uint8; Decode
// gives their values.

// float8 is the values of all 256 bytes of a type, computed when they are first wanted:
// a program that never decodes them does not link that.
type float8 struct {
	once   sync.Once
	values [256]float32
}

var float8E4M3FN, float8E5M2 float8

// e4m3fn has those of Float8E4M3FN: 4 bits of exponent (bias 7), 3 of fraction, no
// infinities, NaN only with all bits but the sign set.
func e4m3fn() *[256]float32 {
	return float8E4M3FN.table(4, 3, func(exponent, fraction int) (float64, bool) {
		return math.NaN(), exponent == 15 && fraction == 7
	})
}

// e5m2 has those of Float8E5M2: 5 bits of exponent (bias 15), 2 of fraction, infinities and
// NaNs as in IEEE 754.
func e5m2() *[256]float32 {
	return float8E5M2.table(5, 2, func(exponent, fraction int) (float64, bool) {
		if fraction == 0 {
			return math.Inf(1), exponent == 31
		}
		return math.NaN(), exponent == 31
	})
}

// table computes the values. special says which patterns are no numbers.
func (t *float8) table(exponentBits, fractionBits uint, special func(exponent, fraction int) (float64, bool)) *[256]float32 {
	t.once.Do(func() {
		bias := 1<<(exponentBits-1) - 1
		for b := range t.values {
			exponent := b >> fractionBits & (1<<exponentBits - 1)
			fraction := b & (1<<fractionBits - 1)
			v, ok := special(exponent, fraction)
			if !ok {
				mantissa, e := fraction, 1-bias // subnormal
				if exponent > 0 {
					mantissa, e = fraction|1<<fractionBits, exponent-bias
				}
				v = math.Ldexp(float64(mantissa), e-int(fractionBits))
			}
			if b >= 128 {
				v = math.Copysign(v, -1)
			}
			t.values[b] = float32(v)
		}
	})
	return &t.values
}
