package tensor

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// QuantizeOptions are the options of Quantize. The zero value means symmetric int8
// with one scale, from the smallest and the largest number.
type QuantizeOptions struct {
	// DType is Int8, Int16, Uint8 or Float16; Invalid, the zero value, means
	// Int8. Float16 has no parameters and ignores the other options.
	DType DType
	// PerChannel means one scale for each index along Axis.
	PerChannel bool
	// Axis is the axis of the channels. Without PerChannel it is ignored.
	Axis int
	// Asymmetric maps the range from minimum to maximum, extended to include
	// 0, to the whole range of the integers by means of zero points; 0 stays
	// exact. Otherwise the range is symmetric and 0 maps to the middle, which
	// is 128 for Uint8.
	Asymmetric bool
	// Encoding, if not nil, is the block encoding to use; its Encode must not be
	// nil. The other options are then ignored, and there are no parameters.
	Encoding *Encoding
}

// QuantStats describes the errors of quantization: the differences between the
// dequantized and the original values. For an empty tensor they are 0 and SNR
// is +Inf.
type QuantStats struct {
	// MaxAbs and MeanAbs are the largest and the mean absolute error.
	MaxAbs, MeanAbs float64
	// SNR is the signal-to-noise ratio in dB, +Inf for a lossless result.
	SNR float64
	// Nonzero and Zeroed count the values that were not 0, and those of them that became 0.
	Nonzero, Zeroed int64
	// ZeroRows counts the rows with a value that was not 0 in which all values became 0. A row is
	// what an index of the first axis selects; a tensor of one axis has none.
	ZeroRows int64
}

// Quantize converts src, row-major in shape, to o.DType. It returns the
// little-endian elements, the parameters to pass to Dequantize (nil for
// Float16 and an Encoding) and the error statistics.
//
// Quantize divides each value by the scale, rounds to the nearest integer, ties
// to even, and adds the zero point. Within the calibrated range the error is at
// most half a scale, plus the error of rounding the real number to float32;
// values outside are clipped. Scales are always positive and finite, and every
// integer in use dequantizes to a finite number: if the range ends within half a
// scale of the largest float32, the outermost integer may stay unused.
//
// NaN and infinities are ErrQuantization; the error names the element. Float16
// keeps them, and finite magnitudes of 65520 and more become infinite, so that
// MaxAbs and MeanAbs are +Inf and SNR is -Inf.
// Other errors: ErrShape when src does not fit shape, ErrQuantization for an
// axis out of range, ErrDType for an unsupported dtype.
func Quantize(src []float32, shape Shape, o QuantizeOptions) (data []byte, q *Quantization, stats QuantStats, err error) {
	z, err := NewQuantizer(shape, o)
	if err != nil {
		return nil, nil, stats, err
	}
	if z.elems != len(src) {
		return nil, nil, stats, fmt.Errorf("%w: %d elements for %v", ErrShape, len(src), shape)
	}
	if err = z.Observe(src); err == nil {
		q, err = z.Parameters()
	}
	if err == nil {
		data = make([]byte, z.size(len(src)))
		err = z.Encode(data, src)
	}
	if err != nil {
		return nil, nil, stats, err
	}
	return data, q, z.Stats(), nil
}

// intLimits describes a target dtype.
type intLimits struct {
	lo, hi int32 // the range to use
	middle int32 // the symmetric zero point
}

// limits are those of the dtypes to quantize to.
var limits = map[DType]intLimits{Int8: {-128, 127, 0}, Uint8: {0, 255, 128}, Int16: {-32768, 32767, 0}}

// parameters chooses scale and zero point for a range that includes 0.
func (z *Quantizer) parameters(low, high float32) (scale float32, zero int32) {
	l := z.lim
	lo := float64(low)
	hi := float64(high)
	if !z.asymmetric {
		return wholeScale(max(hi, -lo), float64(l.hi-l.middle)), l.middle
	}
	scale = wholeScale(hi-lo, float64(l.hi-l.lo))
	// -lo is at most hi-lo, so the sum lies within the limits.
	return scale, l.lo + int32(math.RoundToEven(-lo/float64(scale)))
}

// steps returns the mapping of a channel.
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

// wholeScale returns width/steps, rounded up to float32. Rounding down would clip
// values: by a lot if the scale is subnormal. The result is positive even if width is 0.
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

// halfEncoding is float16 as an Encoding; it accepts all values.
var halfEncoding = &Encoding{
	BlockElems: 1, BlockBytes: 2,
	Decode: func(dst []float32, src []byte) error { vector.Float16(dst, src, false); return nil },
	Encode: func(dst []byte, src []float32) error { vector.EncodeFloat16(dst, src); return nil },
}
