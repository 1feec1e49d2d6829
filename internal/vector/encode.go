package vector

import (
	"encoding/binary"
	"math"
)

const (
	sign32 = 1 << 31

	// The bounds of normal float16 as float32 bits: 2^-14, and 2^16, which is
	// too large. Numbers just below 2^16 round to Inf.
	halfMin = (127 - 14) << 23
	halfMax = (127 + 16) << 23
)

// ToHalf rounds the bits of a float32 to those of the nearest float16, ties to even.
// Magnitudes of 65520 and more become Inf. A NaN keeps its sign and the upper ten bits of
// its payload; if those are all zero it becomes a quiet NaN.
func ToHalf(b uint32) uint16 {
	sign, n := b>>16&0x8000, b&^sign32
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
	return uint16(roundHalf(b))
}

// roundHalf is ToHalf for the normal range of float16. It adds just under half a unit plus
// the bit that decides ties. A carry into the exponent gives the right result, even Inf.
func roundHalf(b uint32) uint32 {
	n := b &^ sign32
	return b>>16&0x8000 | (n+0xfff+n>>13&1-halfAdj)>>13
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
		func(i, j int) { toHalfPlain(dst[2*i:2*j], src[i:j]) })
}

// toHalfPlain converts four numbers at a time: 1.5 times as fast as one.
func toHalfPlain(dst []byte, src []float32) {
	const normal = halfMax - halfMin
	for len(src) >= 4 && len(dst) >= 8 {
		s := (*[4]float32)(src)
		a, b, c, d := math.Float32bits(s[0]), math.Float32bits(s[1]), math.Float32bits(s[2]), math.Float32bits(s[3])
		if a&^sign32-halfMin < normal && b&^sign32-halfMin < normal &&
			c&^sign32-halfMin < normal && d&^sign32-halfMin < normal {
			a, b, c, d = roundHalf(a), roundHalf(b), roundHalf(c), roundHalf(d)
		} else {
			a, b, c, d = uint32(ToHalf(a)), uint32(ToHalf(b)), uint32(ToHalf(c)), uint32(ToHalf(d))
		}
		binary.LittleEndian.PutUint64(dst, uint64(a|b<<16)|uint64(c|d<<16)<<32)
		src, dst = src[4:], dst[8:]
	}
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], ToHalf(math.Float32bits(f)))
	}
}

// EncodeBFloat16 rounds src to little-endian bfloat16 as ToBrain does. dst holds at
// least 2*len(src) bytes.
func EncodeBFloat16(dst []byte, src []float32) {
	split(src, haveIntegers, false,
		func(i, j int) { toBrainBlock(dst[2*i:2*j], src[i:j]) },
		func(i, j int) { toBrainPlain(dst[2*i:2*j], src[i:j]) })
}

func toBrainPlain(dst []byte, src []float32) {
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], ToBrain(math.Float32bits(f)))
	}
}
