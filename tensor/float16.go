package tensor

import (
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// F16 is an IEEE 754 binary16 number as its bits: sign, 5 exponent bits
// with bias 15, 10 fraction bits. Bytes of a file are little-endian.
type F16 uint16

// BF16 is a bfloat16 number as its bits, the upper half of a float32:
// sign, 8 exponent bits with bias 127, 7 fraction bits.
type BF16 uint16

const (
	sign32 = 1 << 31
	inf32  = 0xff << 23 // bits of +Inf; anything above, sign aside, is a NaN
)

// Float32 widens h. The result is exact: subnormals become normal, and a NaN
// keeps sign and payload, also when it is a signaling one.
func (h F16) Float32() float32 {
	return math.Float32frombits(vector.HalfBits(uint16(h)))
}

// DType returns Float16.
func (F16) DType() DType { return Float16 }

// DType returns BFloat16.
func (BF16) DType() DType { return BFloat16 }

// F16From narrows f, rounding to the nearest float16 and ties to even.
// From 65520 on the result is Inf. A NaN keeps its sign and the upper ten bits
// of its payload; when those are all zero it becomes a quiet NaN.
func F16From(f float32) F16 {
	return F16(vector.ToHalf(math.Float32bits(f)))
}

// Float32 widens b. The result is exact, bit for bit.
func (b BF16) Float32() float32 {
	return math.Float32frombits(uint32(b) << 16)
}

// BF16From narrows f, rounding to the nearest bfloat16 and ties to even.
// What rounds to 2^128 becomes Inf. A NaN keeps its sign and the upper seven
// bits of its payload; when those are all zero it becomes a quiet NaN.
func BF16From(f float32) BF16 {
	return BF16(vector.ToBrain(math.Float32bits(f)))
}

// towardOdd narrows f to a float32 that rounds to 16 bits as f itself would: one that is not exact has
// its last bit set, so that it is no tie.
func towardOdd(f float64) float32 {
	if f != f { // conversion would make a signaling NaN quiet
		b := math.Float64bits(f)
		return math.Float32frombits(uint32(b>>32)&sign32 | inf32 | uint32(b>>29)&0x7fffff | 1)
	}
	n := float32(f)
	var above, inexact uint32
	if math.Abs(float64(n)) > math.Abs(f) {
		above = 1
	}
	if float64(n) != f {
		inexact = 1
	}
	return math.Float32frombits(math.Float32bits(n) - above | inexact)
}
