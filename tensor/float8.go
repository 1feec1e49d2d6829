package tensor

import "math"

// The two 8-bit floating-point types of "FP8 Formats for Deep Learning" (2022),
// as safetensors, ONNX and PyTorch have them. Elements are viewed as uint8; Decode
// gives their values.

// float8E4M3FN has the values of all 256 bytes of Float8E4M3FN: 4 bits of exponent
// (bias 7), 3 of fraction, no infinities, NaN only with all bits but the sign set.
var float8E4M3FN = float8Table(4, 3, func(exponent, fraction int) (float64, bool) {
	return math.NaN(), exponent == 15 && fraction == 7
})

// float8E5M2 has those of Float8E5M2: 5 bits of exponent (bias 15), 2 of fraction,
// infinities and NaNs as in IEEE 754.
var float8E5M2 = float8Table(5, 2, func(exponent, fraction int) (float64, bool) {
	if fraction == 0 {
		return math.Inf(1), exponent == 31
	}
	return math.NaN(), exponent == 31
})

// float8Table computes the values of a type. special says which patterns are
// no numbers.
func float8Table(exponentBits, fractionBits uint, special func(exponent, fraction int) (float64, bool)) (table [256]float32) {
	bias := 1<<(exponentBits-1) - 1
	for b := range table {
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
		table[b] = float32(v)
	}
	return table
}
