package vector

// Kind is how a byte stands for an integer: the byte, seen as a number from 0 to
// 255, is that integer after an exclusive or with the kind, and the kind more.
type Kind int32

// The two kinds of 8-bit integers.
const (
	Uint8 Kind = 0
	Int8  Kind = 0x80
)

// value returns the integer that a byte stands for.
func (k Kind) value(b byte) int64 { return int64(int32(b)^int32(k)) - int64(k) }

// exactZero is the largest magnitude of zero points that the vector loops take. An
// element less its zero point then is exact as a float32, and its product with a
// scale exact as a float64: whether it is rounded to float32 from there, as linear
// does, or multiplied as a float32, it is rounded once and from the same number.
const exactZero = 1 << 23

func exact(zero int32) bool { return zero >= -exactZero && zero <= exactZero }

// linear is what one element stands for.
func linear(v, zero int64, scale float64) float32 { return float32(float64(v-zero) * scale) }

// Linear fills dst with (element - zero) * scale for the elements in src, computed
// as float64 and rounded to float32. src holds at least len(dst) bytes.
func Linear(dst []float32, src []byte, k Kind, scale float32, zero int32) {
	linearBytes(dst, src, k, scale, zero, large(dst))
}

func linearBytes(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool) {
	src = src[:len(dst)]
	if exact(zero) {
		if stream {
			n := unaligned(dst)
			linearGeneric(dst[:n], src, k, scale, zero)
			dst, src = dst[n:], src[n:]
		}
		n := linearVector(dst, src, k, scale, zero, stream)
		dst, src = dst[n:], src[n:]
	}
	linearGeneric(dst, src, k, scale, zero)
}

func linearGeneric(dst []float32, src []byte, k Kind, scale float32, zero int32) {
	z, f := int64(zero), float64(scale)
	for i, b := range src[:len(dst)] {
		dst[i] = linear(k.value(b), z, f)
	}
}
