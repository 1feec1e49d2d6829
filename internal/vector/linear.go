package vector

import "slices"

// Kind is the signedness of an integer of 8 or 16 bits, as the mask of its sign bit (0 if
// unsigned): the value of the bits b is (b ^ kind) - kind.
type Kind int32

// The two kinds of 8-bit integers.
const (
	Uint8 Kind = 0
	Int8  Kind = 0x80
)

// value returns the integer with the given bits.
func (k Kind) value(b uint16) int64 { return int64(int32(b)^int32(k)) - int64(k) }

// exact reports whether the vector loops support a zero point. An element minus the zero
// point must be exact as a float32. Its product with a scale is then exact as a float64, so
// rounding that product, as linear does, equals a multiplication in float32.
func exact(zero int32) bool { return zero >= -exactZero && zero <= exactZero }

const exactZero = 1 << 23

// linear returns the value of one element.
func linear(v, zero int64, scale float64) float32 { return float32(float64(v-zero) * scale) }

// Linear fills dst with (element - zero) * scale for the elements in src, computed
// as float64 and rounded to float32. src holds at least len(dst) bytes.
func Linear(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool) {
	split(dst, haveIntegers && exact(zero), stream,
		func(i, j int) { linearBlock(dst[i:j], src[i:j], k, scale, zero, stream) },
		func(i, j int) { linearPlain(dst[i:j], src[i:j], k, scale, zero) })
}

func linearPlain(dst []float32, src []byte, k Kind, scale float32, zero int32) {
	z, f := int64(zero), float64(scale)
	for i, b := range src[:len(dst)] {
		dst[i] = linear(k.value(uint16(b)), z, f)
	}
}

// Rows is Linear for rows of len(scales) elements, each with the scale and the zero
// point of its column; a single zero point applies to all columns. There must be at
// least one scale. The first element is in column at; the last row may be incomplete.
func Rows(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, at int, stream bool) {
	stream = stream && len(scales) >= 2048 // in shorter rows the fence after each costs more than it saves
	have := haveIntegers && !slices.ContainsFunc(zeros, func(z int32) bool { return !exact(z) })
	step := 1
	if len(zeros) == 1 {
		var same [lanes]int32
		for i := range same {
			same[i] = zeros[0]
		}
		step, zeros = 0, same[:]
	}
	for len(dst) > 0 {
		n := min(len(scales)-at, len(dst))
		row, bytes, scales, zeros := dst[:n], src[:n], scales[at:at+n], zeros[at*step:]
		split(row, have, stream,
			func(i, j int) { rowBlock(row[i:j], bytes[i:j], k, scales[i:j], zeros[i*step:], step, stream) },
			func(i, j int) {
				for ; i < j; i++ {
					row[i] = linear(k.value(uint16(bytes[i])), int64(zeros[i*step]), float64(scales[i]))
				}
			})
		dst, src, at = dst[n:], src[n:], 0
	}
}
