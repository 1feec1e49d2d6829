package vector

import (
	"math"
	"slices"
)

// Kind is a type of integers.
type Kind struct {
	size int // in bytes, 1 or 2
	// sign is the mask of the sign bit, 0 if unsigned: the value of the bits b is (b ^ sign) -
	// sign.
	sign int32
}

// The kinds of integers.
var (
	Uint8  = Kind{1, 0}
	Int8   = Kind{1, 0x80}
	Uint16 = Kind{2, 0}
	Int16  = Kind{2, 0x8000}
)

// exactZero limits the zero points of the vector loops. An element minus the zero point must be
// exact as a float32. Its product with a scale is then exact as a float64, so rounding that
// product, as linear does, equals a multiplication in float32.
const exactZero = 1 << 23

// exact reports whether the vector loops support a zero point.
func exact(zero int32) bool { return zero >= -exactZero && zero <= exactZero }

// linear returns the value of the first element of b.
func (k Kind) linear(b []byte, scale float32, zero int32) float32 {
	bits := int32(b[0])
	if k.size == 2 {
		bits |= int32(b[1]) << 8
	}
	return float32(float64(int64((bits^k.sign)-k.sign)-int64(zero)) * float64(scale))
}

// Linear fills dst with (element - zero) * scale for the little-endian elements in src, computed
// as float64 and rounded to float32.
func Linear(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool) {
	split(dst, haveIntegers && exact(zero), stream,
		func(i, j int) {
			if k.size == 2 {
				linear16Block(dst[i:j], src[2*i:2*j], k.sign, scale, zero, stream)
			} else {
				linearBlock(dst[i:j], src[i:j], k.sign, scale, zero, stream)
			}
		},
		func(i int) { dst[i] = k.linear(src[k.size*i:], scale, zero) })
}

// Rows is Linear for rows of len(scales) integers of 8 bits, each with the scale and the zero point
// of its column; a single zero point applies to all columns, and missing ones are 0. There must be
// at least one scale. The first element is in column at; the last row may be incomplete.
func Rows(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, at int, stream bool) {
	// In shorter rows the fence after each costs more than it saves.
	stream = stream && len(scales) >= 2048
	have := haveIntegers && !slices.ContainsFunc(zeros, func(z int32) bool { return !exact(z) })
	step := 1
	if len(zeros) <= 1 {
		var same [lanes]int32
		for i := range same {
			copy(same[i:], zeros)
		}
		step = 0
		zeros = same[:]
	}
	for len(dst) > 0 {
		n := min(len(scales)-at, len(dst))
		row := dst[:n]
		bytes := src[:n]
		scales := scales[at : at+n]
		zeros := zeros[at*step:]
		split(row, have, stream,
			func(i, j int) { rowBlock(row[i:j], bytes[i:j], k.sign, scales[i:j], zeros[i*step:], step, stream) },
			func(i int) { row[i] = k.linear(bytes[i:], scales[i], zeros[i*step]) })
		dst = dst[n:]
		src = src[n:]
		at = 0
	}
}

// Scaled decodes len(scales) blocks of 32 signed bytes: it multiplies each block with its scale.
// Blocks begin every stride bytes and end with their elements. Products must be exact, as
// those of float16 scales are.
func Scaled(dst []float32, src []byte, stride int, scales []float32) {
	if haveIntegers {
		scaledBlocks(dst, src, stride, scales)
	} else {
		scaledPlain(dst, src, stride, scales)
	}
}

func scaledPlain(dst []float32, src []byte, stride int, scales []float32) {
	for i, d := range scales {
		for j, q := range src[(i+1)*stride-32 : (i+1)*stride] {
			dst[32*i+j] = d * float32(int8(q))
		}
	}
}

// Range extends the range lo to hi, which includes 0, by the numbers in src. It reports
// whether all are finite; if not, the returned range is meaningless.
func Range(src []float32, lo, hi float32) (newLo, newHi float32, finite bool) {
	finite = true
	split(src, haveIntegers, false,
		func(i, j int) {
			low, high, nan := rangeBlock(src[i:j])
			// Adding 0 removes negative zeros.
			lo = min(lo, low+0)
			hi = max(hi, high+0)
			finite = finite && !nan && !math.IsInf(float64(lo), 0) && !math.IsInf(float64(hi), 0)
		},
		func(i int) { finite = extend(&lo, &hi, src[i]) && finite })
	return lo, hi, finite
}

// extend extends a range by x if x is finite, and reports that.
func extend(lo, hi *float32, x float32) (finite bool) {
	switch {
	case x-x != 0:
		return false
	case x < *lo:
		*lo = x
	case x > *hi:
		*hi = x
	}
	return true
}

// RangeRow extends the range of each column by the number in src at the same index, in place.
// It reports whether all numbers are finite.
func RangeRow(src, lo, hi []float32) (finite bool) {
	finite = true
	split(src, haveIntegers, false,
		func(i, j int) { finite = rangeRowBlock(src[i:j], lo[i:j], hi[i:j]) && finite },
		func(i int) { finite = extend(&lo[i], &hi[i], src[i]) && finite })
	return finite
}
