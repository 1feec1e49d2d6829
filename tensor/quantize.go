package tensor

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// QuantizeOptions says how Quantize maps real numbers to fewer bits. The zero
// value gives symmetric int8 with one scale, calibrated by minimum and maximum.
type QuantizeOptions struct {
	// DType is Int8, Int16, Uint8 or Float16; Invalid, the zero value, means
	// Int8. Float16 has no parameters and ignores the other options.
	DType DType
	// PerChannel gives each index along Axis its own scale. Axis is
	// ignored without it.
	PerChannel bool
	Axis       int
	// Asymmetric uses the whole range of the integers for the values from
	// minimum to maximum (extended to 0, which stays exact), by zero points.
	// Otherwise zero is in the middle (for Uint8: at 128) and the range is
	// as large on both sides.
	Asymmetric bool
	// Percentile calibrates by that share of the values, in percent and over 0
	// up to 100, rather than by all: the largest magnitudes are clipped, or
	// half as many at both ends when asymmetric. 0 means 100. A channel that
	// is nothing but zeros within that share keeps its minimum and maximum.
	Percentile float64
	// Encoding, which has an Encode, stores blocks of it instead: the other options
	// are ignored, and there are no parameters.
	Encoding *Encoding
}

// QuantStats compares the real numbers a quantized tensor stands for with the
// original ones. For an empty tensor the errors are 0 and SNR is +Inf.
type QuantStats struct {
	MaxAbs  float64 // largest absolute error
	MeanAbs float64 // mean absolute error
	SNR     float64 // ten times the decimal logarithm of signal over noise power, in dB; +Inf when nothing was lost
	Nonzero int64   // values that were not 0
	Zeroed  int64   // those of them that became 0
}

// Quantize converts src, row-major in shape, to o.DType. It returns
// little-endian elements, the parameters that Dequantize takes (nil for
// Float16 and an Encoding) and what was lost.
//
// Values over scale are rounded to the nearest integer, ties to even, and the
// zero point is added, so inside the
// calibrated range the error is at most half a scale, plus what rounding the
// real number to float32 adds; outside, values are clipped. Scales are positive
// and finite for all values, and every result is finite: where the range
// ends within half a scale of the largest float32, the outermost integer may
// stay unused.
//
// NaN and infinities have no integer and are ErrQuantization, naming the
// element; Float16 keeps them, and finite values from 65520 on become
// infinite, which makes MaxAbs and MeanAbs +Inf and SNR -Inf.
// Other errors: ErrShape when src does not fit shape, ErrQuantization for an
// axis or a percentile out of range, ErrDType for another dtype.
func Quantize(src []float32, shape Shape, o QuantizeOptions) (data []byte, q *Quantization, stats QuantStats, err error) {
	z, err := NewQuantizer(shape, o)
	if err != nil {
		return nil, nil, stats, err
	}
	if z.elems != len(src) {
		return nil, nil, stats, fmt.Errorf("%w: %d elements for %v", ErrShape, len(src), shape)
	}
	if err := z.Observe(src); err != nil {
		return nil, nil, stats, err
	}
	if q, err = z.Parameters(); err != nil {
		return nil, nil, stats, err
	}
	data = make([]byte, z.size(len(src)))
	if err := z.Encode(data, src); err != nil {
		return nil, nil, stats, err
	}
	return data, q, z.Stats(), nil
}

// intLimits describes a target dtype.
type intLimits struct {
	lo, hi int32 // range in use
	middle int32 // zero point when symmetric
}

// limits checks the options and returns what they say of dtype and axis.
func (o QuantizeOptions) limits() (l intLimits, axis int, err error) {
	switch o.DType {
	case Int8:
		l = intLimits{-128, 127, 0}
	case Uint8:
		l = intLimits{0, 255, 128}
	case Int16:
		l = intLimits{-32768, 32767, 0}
	default:
		return l, 0, fmt.Errorf("%w: cannot quantize to %v", ErrDType, o.DType)
	}
	if !o.Asymmetric {
		l.lo++ // as far from the middle as hi
	}
	if o.Percentile != 0 && !(o.Percentile > 0 && o.Percentile <= 100) {
		return l, 0, fmt.Errorf("%w: percentile %v", ErrQuantization, o.Percentile)
	}
	if !o.PerChannel {
		return l, PerTensor, nil
	}
	if o.Axis < 0 { // PerTensor among them
		return l, 0, fmt.Errorf("%w: axis %d", ErrQuantization, o.Axis)
	}
	return l, o.Axis, nil
}

// parameters chooses scale and zero point for a range that includes 0.
func (l intLimits) parameters(low, high float32, asymmetric bool) (scale float32, zero int32) {
	lo, hi := float64(low), float64(high)
	if !asymmetric {
		return wholeScale(max(hi, -lo), float64(l.hi-l.middle)), l.middle
	}
	scale = wholeScale(hi-lo, float64(l.hi-l.lo))
	// -lo is at most the range, so this lies within the limits.
	return scale, l.lo + int32(math.RoundToEven(-lo/float64(scale)))
}

// steps returns how numbers are mapped by a scale and a zero point.
func (l intLimits) steps(scale float32, zero int32) vector.Steps {
	s := vector.Steps{Inverse: 1 / float64(scale), Lo: float64(l.lo - zero), Hi: float64(l.hi - zero), Zero: float64(zero)}
	for math.IsInf(float64(float32(s.Hi*float64(scale))), 0) {
		s.Hi--
	}
	for math.IsInf(float64(float32(s.Lo*float64(scale))), 0) {
		s.Lo++
	}
	return s
}

// wholeScale returns the float32 scale with which steps reach over width: the
// quotient rounded up, since rounded down it would clip, by a lot where scales
// are subnormal. It is not 0 even when width is.
func wholeScale(width, steps float64) float32 {
	if width == 0 {
		return 1
	}
	s := float32(width / steps)
	if float64(s)*steps < width {
		s = math.Nextafter32(s, math.MaxFloat32)
	}
	return s
}

// halfEncoding is float16 as an Encoding, which takes any values.
var halfEncoding = &Encoding{
	BlockElems: 1, BlockBytes: 2,
	Decode: func(dst []float32, src []byte) error { vector.Float16(dst, src); return nil },
	Encode: func(dst []byte, src []float32) error { vector.EncodeFloat16(dst, src); return nil },
}
