package vector

import (
	"encoding/binary"
	"math"
)

const (
	// The bounds of normal float16 as float32 bits: 2^-14, and 2^16, which is
	// too large. Numbers just below 2^16 round to Inf.
	halfMin = (127 - 14) << 23
	halfMax = (127 + 16) << 23
)

// ToHalf rounds the bits of a float32 to those of the nearest float16, ties to even.
// Magnitudes of 65520 and more become Inf. A NaN keeps its sign and the upper ten bits of
// its payload; if those are all zero it becomes a quiet NaN.
func ToHalf(b uint32) uint16 {
	sign := b >> 16 & 0x8000
	n := b &^ sign32
	switch {
	case n >= halfMax:
		return uint16(sign | halfTop(n))
	case n < halfMin:
		// The unit in the last place of 0.5 is 2^-24, that of a subnormal
		// float16: the addition rounds at the right bit, ties to even.
		const half = 126 << 23
		f := math.Float32frombits(n) + math.Float32frombits(half)
		return uint16(sign | (math.Float32bits(f) - half))
	}
	// Add just under half a unit plus the bit that decides ties. A carry into the exponent gives
	// the right result, even Inf.
	return uint16(sign | (n+0xfff+n>>13&1-halfAdj)>>13)
}

// halfTop is ToHalf for magnitudes that are too large, infinite or NaN; b has no sign.
func halfTop(b uint32) uint32 {
	if b <= inf32 {
		return 0x7c00
	}
	p := b >> 13 & 0x3ff
	if p == 0 {
		p = 0x200 // otherwise the NaN would become Inf
	}
	return 0x7c00 | p
}

// ToBrain rounds the bits of a float32 to those of the nearest bfloat16, ties to even.
// Magnitudes that round to 2^128 become Inf. A NaN keeps its sign and the upper seven bits
// of its payload; if those are all zero it becomes a quiet NaN.
func ToBrain(b uint32) uint16 {
	if b&^sign32 > inf32 {
		if b>>16&0x7f == 0 {
			b |= 0x40 << 16
		}
		return uint16(b >> 16)
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// EncodeFloat16 rounds src to little-endian float16 as ToHalf does. dst holds at least
// 2*len(src) bytes.
func EncodeFloat16(dst []byte, src []float32) {
	split(src, haveHalf, false,
		func(i, j int) { toHalfBlock(dst[2*i:2*j], src[i:j]) },
		func(i int) { binary.LittleEndian.PutUint16(dst[2*i:], ToHalf(math.Float32bits(src[i]))) })
}

// EncodeBFloat16 rounds src to little-endian bfloat16 as ToBrain does. dst holds at
// least 2*len(src) bytes.
func EncodeBFloat16(dst []byte, src []float32) {
	split(src, haveIntegers, false,
		func(i, j int) { toBrainBlock(dst[2*i:2*j], src[i:j]) },
		func(i int) { binary.LittleEndian.PutUint16(dst[2*i:], ToBrain(math.Float32bits(src[i]))) })
}

// TowardOdd rounds f to odd: an inexact result has its last bit set. Since it is then no tie,
// rounding it to 16 bits gives the same number as rounding f.
func TowardOdd(f float64) float32 {
	if f != f { // converting would make a signaling NaN quiet
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
