package tensor

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// Dequantize fills dst with the real numbers that quantized elements stand
// for, as rounded to float32 once. data holds the little-endian elements of any
// integer dtype, row-major in shape; dst has as many elements.
//
// With q' = element - zero point, taken without overflow, a Linear element is
// q' * scale and a Logarithmic one sign(q') * (exp2(|q'| * scale) - 1). Missing
// zero points are 0; a single one serves all scales.
//
// Errors: ErrQuantization for parameters that [Quantization.Check] refuses;
// ErrShape when dst or data does not fit the shape.
func Dequantize(dst []float32, data []byte, dt DType, shape Shape, q *Quantization) error {
	if err := q.Check(dt, shape); err != nil {
		return err
	}
	if _, err := channelSize(shape, q.Axis, len(dst)); err != nil {
		return err
	}
	size := int(dt.Size())
	// Compared by division: the product could overflow a 32-bit int.
	if len(data)/size != len(dst) || len(data)%size != 0 {
		return fmt.Errorf("%w: %d bytes for %d elements of %v", ErrShape, len(data), len(dst), dt)
	}
	q.convert(dst, data, dt, shape, 0)
	return nil
}

// convert converts the elements from first on, which there are.
func (q *Quantization) convert(dst []float32, data []byte, dt DType, shape Shape, first int64) {
	if len(dst) == 0 {
		return
	}
	inner := int64(math.MaxInt64) // elements of a channel that are side by side
	if len(q.Scales) > 1 {
		inner = 1
		for _, d := range shape[q.Axis+1:] {
			inner *= d
		}
	}
	c, left := int(first/inner%int64(len(q.Scales))), inner-first%inner
	isBytes := q.Scheme == Linear && dt.Size() == 1
	switch {
	case isBytes && inner == 1 && len(q.Scales) >= shortRun && len(dst) >= len(q.Scales)/8: // worth a look at all zero points
		vector.Rows(dst, data, byteKind(dt), q.Scales, q.zeroRow(), c)
	case isBytes && inner < shortRun:
		q.convertBytes(dst, data, dt, c, int(left), int(inner))
	default:
		q.convertRuns(dst, data, dt, c, left, inner)
	}
}

// convertRuns converts run after run of channels, of the first of which left elements are left.
func (q *Quantization) convertRuns(dst []float32, data []byte, dt DType, c int, left, inner int64) {
	size := int(dt.Size())
	for len(dst) > 0 {
		n := int(min(left, int64(len(dst))))
		p := realParams{float64(q.Scales[c]), q.zeroPoint(c)}
		if q.Scheme == Linear && n >= shortRun {
			linearRun(dst[:n], data, dt, p)
		} else {
			q.convertSlowly(dst[:n], data, dt, p)
		}
		dst, data, left = dst[n:], data[n*size:], inner
		if c++; c == len(q.Scales) {
			c = 0
		}
	}
}

// shortRun is how many elements cost as much as setting up a vector run.
const shortRun = 8

// convertBytes is convertRuns for runs that are short.
func (q *Quantization) convertBytes(dst []float32, data []byte, dt DType, c, left, inner int) {
	for i, b := range data[:len(dst)] {
		v := int64(b)
		if dt == Int8 {
			v = int64(int8(b))
		}
		dst[i] = realParams{float64(q.Scales[c]), q.zeroPoint(c)}.linear(v)
		if left--; left > 0 {
			continue
		}
		left = inner
		if c++; c == len(q.Scales) {
			c = 0
		}
	}
}

// convertSlowly converts elements of one channel one by one.
func (q *Quantization) convertSlowly(dst []float32, b []byte, dt DType, p realParams) {
	for i := range dst {
		if d := p.difference(b, dt, i); q.Scheme == Linear {
			dst[i] = float32(d * p.scale)
		} else {
			dst[i] = p.logarithmic(d)
		}
	}
}

func isInteger(d DType) bool {
	switch d {
	case Int64, Int32, Int16, Int8, Uint64, Uint32, Uint16, Uint8:
		return true
	}
	return false
}

// channelSize returns how many elements of one channel lie side by side: the
// product of the dims after axis, or all of them for PerTensor. n is the number
// of elements the caller has.
func channelSize(shape Shape, axis, n int) (int, error) {
	elems, err := shape.Elems()
	if err != nil {
		return 0, err
	}
	if elems != int64(n) {
		return 0, fmt.Errorf("%w: %d elements for %v", ErrShape, n, shape)
	}
	if axis == PerTensor {
		return n, nil
	}
	if err := checkAxis(shape, axis); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	inner := 1
	for _, d := range shape[axis+1:] {
		inner *= int(d) // divides n
	}
	return inner, nil
}

// Check reports as ErrQuantization why these parameters do not fit tensors of
// that dtype and shape: they are nil, the dtype is not an integer, the scheme is
// unknown, the shape lacks the axis, there is not one scale per channel, or the
// zero points do not match the scales.
func (q *Quantization) Check(d DType, shape Shape) error {
	switch {
	case !isInteger(d):
		return fmt.Errorf("%w: elements are %v, not integers", ErrQuantization, d)
	case q == nil:
		return fmt.Errorf("%w: there are none", ErrQuantization)
	case q.Scheme > Logarithmic:
		return fmt.Errorf("%w: unknown scheme %d", ErrQuantization, q.Scheme)
	}
	channels := int64(1)
	if q.Axis != PerTensor {
		if err := checkAxis(shape, q.Axis); err != nil {
			return err
		}
		channels = shape[q.Axis]
	}
	if int64(len(q.Scales)) != channels {
		return fmt.Errorf("%w: %d scales for %d channels", ErrQuantization, len(q.Scales), channels)
	}
	if n := len(q.ZeroPoints); n > 1 && n != len(q.Scales) {
		return fmt.Errorf("%w: %d zero points for %d scales", ErrQuantization, n, len(q.Scales))
	}
	return nil
}

func checkAxis(shape Shape, axis int) error {
	if axis < 0 || axis >= len(shape) {
		return fmt.Errorf("%w: axis %d of a tensor of rank %d", ErrQuantization, axis, len(shape))
	}
	return nil
}

// byteKind says which integers the bytes of an 8-bit dtype are.
func byteKind(d DType) vector.Kind {
	if d == Int8 {
		return vector.Int8
	}
	return vector.Uint8
}

var noZeroPoints = []int32{0}

// zeroRow returns the zero points of all channels, or the one that serves them all.
func (q *Quantization) zeroRow() []int32 {
	if len(q.ZeroPoints) == 0 {
		return noZeroPoints
	}
	return q.ZeroPoints
}

// zeroPoint returns the zero point of channel c.
func (q *Quantization) zeroPoint(c int) int64 {
	switch len(q.ZeroPoints) {
	case 0:
		return 0
	case 1:
		return int64(q.ZeroPoints[0])
	}
	return int64(q.ZeroPoints[c])
}

// realParams are the parameters of one channel.
type realParams struct {
	scale float64
	zero  int64
}

// linear is exact except for its one rounding while v-zero has up to 29 bits.
func (p realParams) linear(v int64) float32 { return float32(float64(v-p.zero) * p.scale) }

// linearRun converts len(dst) elements from the front of b.
func linearRun(dst []float32, b []byte, dt DType, p realParams) {
	le := binary.LittleEndian
	b = b[:len(dst)*int(dt.Size())]
	switch dt {
	case Int8, Uint8:
		vector.Linear(dst, b, byteKind(dt), float32(p.scale), int32(p.zero))
	case Int16:
		for i := range dst {
			dst[i] = p.linear(int64(int16(le.Uint16(b[2*i:]))))
		}
	case Uint16:
		for i := range dst {
			dst[i] = p.linear(int64(le.Uint16(b[2*i:])))
		}
	case Int32:
		for i := range dst {
			dst[i] = p.linear(int64(int32(le.Uint32(b[4*i:]))))
		}
	case Uint32:
		for i := range dst {
			dst[i] = p.linear(int64(le.Uint32(b[4*i:])))
		}
	default:
		for i := range dst {
			dst[i] = float32(p.difference(b, dt, i) * p.scale)
		}
	}
}

// logarithmic takes an element less the zero point.
func (p realParams) logarithmic(d float64) float32 {
	r := math.Exp2(math.Abs(d)*p.scale) - 1
	switch {
	case d == 0:
		return 0 // whatever the scale
	case d < 0:
		return float32(-r)
	}
	return float32(r)
}

// difference returns element i less the zero point. Only the two 64-bit types
// can leave the range of int64; their difference is then taken in float64,
// which loses less than the float32 it ends in.
func (p realParams) difference(b []byte, dt DType, i int) float64 {
	le := binary.LittleEndian
	var v int64
	switch dt {
	case Int8:
		v = int64(int8(b[i]))
	case Uint8:
		v = int64(b[i])
	case Int16:
		v = int64(int16(le.Uint16(b[2*i:])))
	case Uint16:
		v = int64(le.Uint16(b[2*i:]))
	case Int32:
		v = int64(int32(le.Uint32(b[4*i:])))
	case Uint32:
		v = int64(le.Uint32(b[4*i:]))
	case Int64:
		v = int64(le.Uint64(b[8*i:]))
	case Uint64:
		u := le.Uint64(b[8*i:])
		if u > math.MaxInt64 {
			return float64(u) - float64(p.zero)
		}
		v = int64(u)
	}
	d := v - p.zero
	if (v^p.zero)&(v^d) < 0 { // overflow: the signs differ, and the result's is not v's
		return float64(v) - float64(p.zero)
	}
	return float64(d)
}
