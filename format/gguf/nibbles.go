package gguf

import (
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// Values of 4-bit elements.
var (
	valuesQ4  = [16]int8{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}
	valuesQ41 = [16]int8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	valuesQ5  = [16]int8{-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1}
	valuesIQ4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	valuesFP4 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12} // twice an e2m1
)

// Blocks of 32 elements whose scale comes first, then their minimum if they have one.
var (
	decodeQ4_0  = nibbles(halves, none, vector.Nibbles{Stride: 18, At: 2, Values: valuesQ4})
	decodeQ4_1  = nibbles(halves, halves, vector.Nibbles{Stride: 20, At: 4, Values: valuesQ41})
	decodeQ5_0  = nibbles(halves, none, vector.Nibbles{Stride: 22, At: 6, Fifth: 2, Values: valuesQ5, High: 16})
	decodeQ5_1  = nibbles(halves, halves, vector.Nibbles{Stride: 24, At: 8, Fifth: 4, Values: valuesQ41, High: 16})
	decodeQ8_0  = scaled(34, halves, none, bytesQ8_0)
	decodeIQ4NL = nibbles(halves, none, vector.Nibbles{Stride: 18, At: 2, Values: valuesIQ4})
	decodeMXFP4 = nibbles(exponents, none, vector.Nibbles{Stride: 17, At: 1, Values: valuesFP4})
)

// bytesQ8_0 decodes the elements of Q8_0, which are whole bytes without a minimum.
func bytesQ8_0(dst []float32, src []byte, scales, _ []float32) {
	vector.Scaled(dst, src, 34, scales)
}

func nibbles(scale, minimum reader, n vector.Nibbles) func(dst []float32, src []byte) {
	return scaled(n.Stride, scale, minimum, n.Decode)
}

// reader reads the numbers that are stride bytes apart.
type reader func(dst []float32, src []byte, stride int)

// elementDecoder decodes 32 elements a block with the scale and the minimum of each.
type elementDecoder func(dst []float32, src []byte, scales, minimums []float32)

// scaled returns a decoder of blocks of stride bytes.
func scaled(stride int, scale, minimum reader,
	decode elementDecoder) func(dst []float32, src []byte) {
	const batch = vector.Batch / 2
	return func(dst []float32, src []byte) {
		var scales, minimums [batch]float32
		for len(dst) > 0 {
			k := min(len(dst)/32, batch)
			scale(scales[:k], src, stride)
			minimum(minimums[:k], src[2:], stride)
			decode(dst[:32*k], src[:k*stride], scales[:k], minimums[:k])
			dst = dst[32*k:]
			src = src[k*stride:]
		}
	}
}

// none returns minimums that change no number, nor the sign of a zero.
func none(dst []float32, _ []byte, _ int) {
	for i := range dst {
		dst[i] = float32(math.Copysign(0, -1))
	}
}

// halves reads the float16 that are stride bytes apart.
func halves(dst []float32, src []byte, stride int) {
	for i := range dst {
		dst[i] = math.Float32frombits(vector.HalfBits(binary.LittleEndian.Uint16(src[i*stride:])))
	}
}

// exponents reads e8m0 and halves the powers of two, as the values are doubled.
func exponents(dst []float32, src []byte, stride int) {
	for i := range dst {
		e := src[i*stride]
		if e < 2 {
			dst[i] = math.Float32frombits(0x00200000 << e)
		} else {
			dst[i] = math.Float32frombits(uint32(e-1) << 23)
		}
	}
}

var groupsIQ4XS = vector.Nibbles{Stride: 16, Values: valuesIQ4}

// decodeIQ4XS: d, upper bits of 8 scales, lower bits, groups of 32 elements.
func decodeIQ4XS(dst []float32, src []byte) {
	for len(dst) > 0 {
		d := half(src)
		upper := binary.LittleEndian.Uint16(src[2:])
		lower := binary.LittleEndian.Uint32(src[4:])
		var scales, minimums [8]float32
		none(minimums[:], nil, 0)
		for i := range scales {
			scales[i] = d * float32(int(lower>>(4*i)&15|uint32(upper)>>(2*i)&3<<4)-32)
		}
		groupsIQ4XS.Decode(dst[:256], src[8:136], scales[:], minimums[:])
		dst = dst[256:]
		src = src[136:]
	}
}
