package tensor

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/vector"
)

// Dequantize converts quantized elements to real numbers, each rounded to float32 once. data
// holds little-endian elements of any integer dtype, row-major in shape; dst must have as many
// elements.
//
// With q' = element - zero point, a Linear element is q' * scale and a Logarithmic
// one is sign(q') * (exp2(|q'| * scale) - 1). Missing zero points are 0; a single one
// applies to all scales.
//
// Errors: ErrQuantization for parameters that [Quantization.Check] rejects;
// ErrShape when dst or data does not fit the shape.
func Dequantize(dst []float32, data []byte, dt DType, shape Shape, q *Quantization) error {
	if err := q.Check(dt, shape); err != nil {
		return err
	}
	elems, err := shape.Elems()
	if err == nil && (elems != int64(len(dst)) || elems*dt.Size() != int64(len(data))) {
		err = fmt.Errorf("%w: %d elements for %v, from %d bytes of %v", ErrShape, len(dst), shape, len(data), dt)
	}
	if err != nil {
		return err
	}
	q.convert(dst, data, dt, shape, 0, vector.Streams(len(dst), dt.Size()))
	return nil
}

// channelRuns iterates over the elements of a tensor in runs: of one channel, or, if adjacent
// elements belong to different channels, of consecutive channels.
type channelRuns struct {
	channel, channels int
	// left and inner are the elements left of this channel, and the adjacent elements of a channel.
	left, inner int64
	// step is the number of channels from one element of a run to the next: 0 or 1.
	step int
}

// runsFrom starts at element first. There is one channel, or one for each index along axis.
func runsFrom(first int64, channels, axis int, shape Shape) channelRuns {
	inner := int64(math.MaxInt64)
	step := 0
	if channels > 1 {
		inner = 1
		for _, d := range shape[axis+1:] {
			inner *= d
		}
	}
	if inner == 1 {
		step = 1
	}
	return channelRuns{int(first / inner % int64(channels)), channels, inner - first%inner, inner, step}
}

// next advances by a run of up to n elements, the first of which belongs to channel.
func (r *channelRuns) next(n int) (channel, taken int) {
	channel = r.channel
	if r.step == 1 {
		taken = min(n, r.channels-channel)
		r.channel += taken
	} else {
		taken = int(min(int64(n), r.left))
		if r.left -= int64(taken); r.left == 0 {
			r.left = r.inner
			r.channel++
		}
	}
	if r.channel == r.channels {
		r.channel = 0
	}
	return channel, taken
}

// shortRun is how many elements cost as much as setting up a vector loop.
const shortRun = 8

// convert converts the elements from first on, which must exist.
func (q *Quantization) convert(dst []float32, data []byte, dt DType, shape Shape, first int64, stream bool) {
	if len(dst) == 0 {
		return
	}
	channels := len(q.Scales)
	runs := runsFrom(first, channels, q.Axis, shape)
	size := int(dt.Size())
	kind, isShort := kinds[dt]
	isShort = isShort && q.Scheme == Linear
	switch {
	// A row must be worth a look at all zero points.
	case isShort && size == 1 && runs.step == 1 && channels >= shortRun && len(dst) >= channels/8:
		vector.Rows(dst, data, kind, q.Scales, q.ZeroPoints, runs.channel, stream)
	case isShort && runs.inner >= shortRun:
		for len(dst) > 0 {
			c, n := runs.next(len(dst))
			vector.Linear(dst[:n], data[:n*size], kind, q.Scales[c], q.zeroPoint(c), stream)
			dst = dst[n:]
			data = data[n*size:]
		}
	default:
		q.convertSlowly(dst, data, dt, runs)
	}
}

// convertSlowly handles every dtype, scheme and run length.
func (q *Quantization) convertSlowly(dst []float32, data []byte, dt DType, runs channelRuns) {
	piece := borrow(min(len(dst), 128))
	size := int(dt.Size())
	defer scratch.Put(piece)
	for len(dst) > 0 {
		part := (*piece)[:min(len(dst), len(*piece))]
		numbers[dt].double(part, data, false)
		data = data[len(part)*size:]
		for len(part) > 0 {
			c, n := runs.next(len(part))
			for i, x := range part[:n] {
				scale := float64(q.Scales[c+i*runs.step])
				zero := float64(q.zeroPoint(c + i*runs.step))
				if q.Scheme == Linear {
					dst[i] = float32((x - zero) * scale)
				} else {
					dst[i] = logarithmic(x-zero, scale)
				}
			}
			dst = dst[n:]
			part = part[n:]
		}
	}
}

// logarithmic converts d, an element minus its zero point.
func logarithmic(d, scale float64) float32 {
	if d == 0 {
		return 0 // for any scale, even Inf
	}
	return float32(math.Copysign(math.Exp2(math.Abs(d)*scale)-1, d))
}

// Check reports whether the parameters fit a tensor of the given dtype and shape. It returns
// ErrQuantization if they are nil, the dtype is not an integer, the scheme is unknown, the
// shape lacks the axis, the number of scales is not that of the channels, or the zero points
// do not match the scales.
func (q *Quantization) Check(d DType, shape Shape) error {
	switch {
	case !d.isInteger():
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

// zeroPoint returns the zero point of channel c.
func (q *Quantization) zeroPoint(c int) int32 {
	if len(q.ZeroPoints) == 0 {
		return 0
	}
	return q.ZeroPoints[min(c, len(q.ZeroPoints)-1)]
}
