package tensor

import (
	"encoding/binary"
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

	// The normal float16 range as float32 bits: from 2^-14 up to 2^16, which
	// already is too large, but what lies just below it rounds to Inf.
	half32Min = (127 - 14) << 23
	half32Max = (127 + 16) << 23
	half32Adj = (127 - 15) << 23 // difference of the biases, in place
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
	return F16(narrowHalf(math.Float32bits(f)))
}

// narrowHalf rounds the bits of a float32 to those of a float16.
func narrowHalf(b uint32) uint32 {
	sign, n := b>>16&0x8000, b&^sign32
	switch {
	case n >= half32Max:
		return sign | halfTop(n)
	case n < half32Min:
		// The unit in the last place of 0.5 is 2^-24, that of a subnormal
		// float16: the addition rounds at the right bit, ties to even.
		const half = 126 << 23
		f := math.Float32frombits(n) + math.Float32frombits(half)
		return sign | (math.Float32bits(f) - half)
	}
	return roundHalf(b)
}

// roundHalf is narrowHalf for the normal range of float16. It adds just under
// half a unit plus the bit that decides ties; where that carries into the
// exponent the result is right, up to Inf.
func roundHalf(b uint32) uint32 {
	n := b &^ sign32
	return b>>16&0x8000 | (n+0xfff+n>>13&1-half32Adj)>>13
}

// halfTop narrows what is too large, infinite or not a number; b has no sign.
func halfTop(b uint32) uint32 {
	if b <= inf32 {
		return 0x7c00
	}
	p := b >> 13 & 0x3ff
	if p == 0 {
		p = 0x200 // or the NaN would turn into Inf
	}
	return 0x7c00 | p
}

// Float32 widens b. The result is exact, bit for bit.
func (b BF16) Float32() float32 {
	return math.Float32frombits(uint32(b) << 16)
}

// BF16From narrows f, rounding to the nearest bfloat16 and ties to even.
// What rounds to 2^128 becomes Inf. A NaN keeps its sign and the upper seven
// bits of its payload; when those are all zero it becomes a quiet NaN.
func BF16From(f float32) BF16 {
	b := math.Float32bits(f)
	if b&^sign32 > inf32 {
		if b>>16&0x7f == 0 {
			b |= 0x40 << 16
		}
		return BF16(b >> 16)
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
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

// encodeFloat16 narrows src to little-endian float16. Four at a time take two thirds of the time (BenchmarkFloat16).
// dst holds at least 2*len(src) bytes.
func encodeFloat16(dst []byte, src []float32) {
	const normal = half32Max - half32Min
	dst = dst[:2*len(src)]
	for len(src) >= 4 && len(dst) >= 8 {
		s := (*[4]float32)(src)
		a, b, c, d := math.Float32bits(s[0]), math.Float32bits(s[1]), math.Float32bits(s[2]), math.Float32bits(s[3])
		if a&^sign32-half32Min < normal && b&^sign32-half32Min < normal &&
			c&^sign32-half32Min < normal && d&^sign32-half32Min < normal {
			a, b, c, d = roundHalf(a), roundHalf(b), roundHalf(c), roundHalf(d)
		} else {
			a, b, c, d = narrowHalf(a), narrowHalf(b), narrowHalf(c), narrowHalf(d)
		}
		binary.LittleEndian.PutUint64(dst, uint64(a|b<<16)|uint64(c|d<<16)<<32)
		src, dst = src[4:], dst[8:]
	}
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(narrowHalf(math.Float32bits(f))))
	}
}
