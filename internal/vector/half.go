package vector

import (
	"encoding/binary"
	"math"
)

const (
	sign32 = 1 << 31
	inf32  = 0xff << 23 // bits of +Inf; anything above, sign aside, is a NaN
	// halfAdj is the difference of the biases of float32 and float16, in place.
	halfAdj = (127 - 15) << 23
)

// HalfBits widens the bits of a float16 to those of a float32. The result is
// exact: subnormals become normal, and a NaN keeps sign and payload, also when it
// is a signaling one.
func HalfBits(h uint16) uint32 {
	sign, b := uint32(h)&0x8000<<16, uint32(h)&0x7fff<<13
	switch e := h & 0x7c00; e {
	case 0:
		// Give the fraction an implicit one, and let the float unit take it
		// away again: the subtraction is exact and normalizes.
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
func Float16(dst []float32, src []byte) { float16(dst, src, large(dst)) }

func float16(dst []float32, src []byte, stream bool) {
	src = src[:2*len(dst)]
	if stream {
		n := unaligned(dst)
		float16Generic(dst[:n], src)
		dst, src = dst[n:], src[2*n:]
	}
	n := float16Vector(dst, src, stream)
	float16Generic(dst[n:], src[2*n:])
}

func float16Generic(dst []float32, src []byte) {
	const (
		exps  = 0x7c00_7c00_7c00_7c00
		ones  = 0x0400_0400_0400_0400
		signs = 0x8000_8000_8000_8000
	)
	src = src[:2*len(dst)]
	for len(dst) >= 4 && len(src) >= 8 {
		w := binary.LittleEndian.Uint64(src)
		d := (*[4]float32)(dst)
		// In each lane the first sum has bit 15 set unless the exponent is 0,
		// the second one only when it is 31: one test says whether all four
		// are normal numbers, as weights mostly are.
		if e := w & exps; (e+exps)&^(e+ones)&signs == signs {
			d[0] = math.Float32frombits(uint32(w)&0x8000<<16 | (uint32(w)&0x7fff<<13 + halfAdj))
			d[1] = math.Float32frombits(uint32(w)&sign32 | (uint32(w>>3)&0x0fffe000 + halfAdj))
			d[2] = math.Float32frombits(uint32(w>>16)&sign32 | (uint32(w>>19)&0x0fffe000 + halfAdj))
			d[3] = math.Float32frombits(uint32(w>>32)&sign32 | (uint32(w>>35)&0x0fffe000 + halfAdj))
		} else {
			d[0] = math.Float32frombits(HalfBits(uint16(w)))
			d[1] = math.Float32frombits(HalfBits(uint16(w >> 16)))
			d[2] = math.Float32frombits(HalfBits(uint16(w >> 32)))
			d[3] = math.Float32frombits(HalfBits(uint16(w >> 48)))
		}
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = math.Float32frombits(HalfBits(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

// BFloat16 widens the little-endian bfloat16 in src to len(dst) values, bit for
// bit. src holds at least 2*len(dst) bytes.
func BFloat16(dst []float32, src []byte) { bfloat16(dst, src, large(dst)) }

func bfloat16(dst []float32, src []byte, stream bool) {
	src = src[:2*len(dst)]
	if stream {
		n := unaligned(dst)
		bfloat16Generic(dst[:n], src)
		dst, src = dst[n:], src[2*n:]
	}
	n := bfloat16Vector(dst, src, stream)
	bfloat16Generic(dst[n:], src[2*n:])
}

func bfloat16Generic(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for len(dst) >= 4 && len(src) >= 8 {
		w := binary.LittleEndian.Uint64(src)
		d := (*[4]float32)(dst)
		d[0] = math.Float32frombits(uint32(w) << 16)
		d[1] = math.Float32frombits(uint32(w) &^ 0xffff)
		d[2] = math.Float32frombits(uint32(w>>16) &^ 0xffff)
		d[3] = math.Float32frombits(uint32(w>>32) &^ 0xffff)
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}
