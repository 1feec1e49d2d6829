package vector

import (
	"encoding/binary"
	"math"
)

const (
	inf32 = 0xff << 23 // bits of +Inf; larger magnitudes are NaNs
	// halfAdj is the difference of the biases of float32 and float16, in the exponent's place.
	halfAdj = (127 - 15) << 23
)

// HalfBits converts the bits of a float16 to those of a float32. The result is exact:
// subnormals become normal, and a NaN, signaling or quiet, keeps its sign and payload.
func HalfBits(h uint16) uint32 {
	sign, b := uint32(h)&0x8000<<16, uint32(h)&0x7fff<<13
	switch h & 0x7c00 {
	case 0:
		// Add an implicit one to the fraction and subtract it as a float: the
		// subtraction is exact and normalizes.
		const one = 113 << 23
		f := math.Float32frombits(one+b) - math.Float32frombits(one)
		return sign | math.Float32bits(f)
	case 0x7c00:
		return sign | b | inf32
	}
	return sign | (b + halfAdj)
}

// Float16 widens the little-endian float16 in src to len(dst) values as HalfBits
// does. src holds at least 2*len(dst) bytes.
func Float16(dst []float32, src []byte, stream bool) {
	split(dst, haveHalf, stream,
		func(i, j int) { float16Block(dst[i:j], src[2*i:2*j], stream) },
		func(i, j int) { float16Plain(dst[i:j], src[2*i:2*j]) })
}

func float16Plain(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(HalfBits(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

// BFloat16 widens the little-endian bfloat16 in src to len(dst) values, bit for
// bit. src holds at least 2*len(dst) bytes.
func BFloat16(dst []float32, src []byte, stream bool) {
	split(dst, haveIntegers, stream,
		func(i, j int) { bfloat16Block(dst[i:j], src[2*i:2*j], stream) },
		func(i, j int) { bfloat16Plain(dst[i:j], src[2*i:2*j]) })
}

func bfloat16Plain(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}
