package tensor

import (
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// F16 holds the bits of an IEEE 754 binary16 number: sign, 5 exponent bits
// with bias 15, 10 fraction bits.
type F16 uint16

// BF16 holds the bits of a bfloat16 number, which is the upper half of a float32:
// sign, 8 exponent bits with bias 127, 7 fraction bits.
type BF16 uint16

// Float32 converts h to float32. The result is exact: subnormals become normal, and a NaN,
// signaling or quiet, keeps its sign and payload.
func (h F16) Float32() float32 {
	return math.Float32frombits(vector.HalfBits(uint16(h)))
}

// DType returns Float16.
func (F16) DType() DType { return Float16 }

// DType returns BFloat16.
func (BF16) DType() DType { return BFloat16 }

// F16From rounds f to the nearest float16, ties to even. Magnitudes of 65520 and more become
// infinite. A NaN keeps its sign and the upper ten bits of its payload; if those are all zero
// it becomes a quiet NaN.
func F16From(f float32) F16 {
	return F16(vector.ToHalf(math.Float32bits(f)))
}

// Float32 converts b to float32. The result is exact, for NaNs too.
func (b BF16) Float32() float32 {
	return math.Float32frombits(uint32(b) << 16)
}

// BF16From rounds f to the nearest bfloat16, ties to even. Magnitudes that round to 2^128
// become infinite. A NaN keeps its sign and the upper seven bits of its payload; if those are
// all zero it becomes a quiet NaN.
func BF16From(f float32) BF16 {
	return BF16(vector.ToBrain(math.Float32bits(f)))
}
