package tensor

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/internal/vector"
)

// Quantizer quantizes a tensor in pieces, so that the whole need not be in memory. Pass it
// all elements twice, row-major and in pieces of any size: first to Observe, then, after a
// call of Parameters, to Encode. The results are those of Quantize.
type Quantizer struct {
	// info is the type to quantize to, with the parameters once they are known.
	info       Info
	asymmetric bool
	lim        intLimits
	axis       int
	channels   int
	elems      int
	observed   int
	encoded    int
	// lo and hi are the ranges of the channels seen so far, which include 0.
	lo, hi []float32
	// columns has one element for each channel.
	columns []vector.Steps
	errors  vector.Errors
	rows    vector.ZeroRows
}

// NewQuantizer returns a Quantizer for a tensor of the given shape. Its errors are those of
// Quantize for the options.
func NewQuantizer(shape Shape, o QuantizeOptions) (*Quantizer, error) {
	elems, err := shape.Elems()
	if err != nil {
		return nil, err
	}
	z := &Quantizer{rows: vector.NewZeroRows(shape), asymmetric: o.Asymmetric, axis: PerTensor, elems: int(elems), channels: 1}
	z.info = Info{DType: cmp.Or(o.DType, Int8), Shape: shape, Encoding: o.Encoding}
	if o.Encoding == nil && o.DType == Float16 {
		z.info.Encoding = halfEncoding
	}
	var ok bool
	z.lim, ok = limits[z.info.DType]
	switch e := z.info.Encoding; {
	case int64(z.elems) != elems:
		return nil, fmt.Errorf("%w: %d elements are more than this platform can address", ErrShape, elems)
	case e != nil && (e.Encode == nil || e.Decode == nil), e == nil && !ok:
		return nil, fmt.Errorf("%w: cannot quantize to %s", ErrDType, z.info.TypeName())
	case e != nil:
		_, err := e.Bytes(shape)
		return z, err
	}
	if !o.Asymmetric {
		z.lim.lo++ // symmetric around the middle
	}
	if o.PerChannel {
		if err := checkAxis(shape, o.Axis); err != nil {
			return nil, err
		}
		// An empty tensor may declare any number of channels, without data to justify the memory.
		if elems == 0 && shape[o.Axis] > fewChannels {
			return nil, fmt.Errorf("%w: %d channels without an element", ErrQuantization, shape[o.Axis])
		}
		z.axis = o.Axis
		z.channels = int(shape[o.Axis])
	}
	z.grow(min(z.channels, fewChannels))
	return z, nil
}

// fewChannels is the number of channels for which memory is allocated up front.
const fewChannels = 1 << 16

// grow makes room for the ranges of n channels. Memory grows with the observed elements since a
// shape may declare more channels than the data has.
func (z *Quantizer) grow(n int) {
	if more := n - len(z.lo); more > 0 {
		z.lo = append(z.lo, make([]float32, more)...)
		z.hi = append(z.hi, make([]float32, more)...)
	}
}

// Observe records the range of the next elements. NaN and infinities are ErrQuantization;
// more elements than the tensor has are ErrShape.
func (z *Quantizer) Observe(src []float32) error {
	if err := z.room(z.observed, len(src)); err != nil {
		return err
	}
	if z.info.Encoding != nil || len(src) == 0 {
		z.observed += len(src)
		return nil
	}
	runs := runsFrom(int64(z.observed), z.channels, z.axis, z.info.Shape)
	for rest := src; len(rest) > 0; {
		finite := false
		c, n := runs.next(len(rest))
		if runs.step == 1 {
			z.grow(c + n)
			finite = vector.RangeRow(rest[:n], z.lo[c:c+n], z.hi[c:c+n])
		} else {
			z.grow(c + 1)
			z.lo[c], z.hi[c], finite = vector.Range(rest[:n], z.lo[c], z.hi[c])
		}
		if !finite {
			// A search can find nothing if src changes concurrently.
			bad := max(slices.IndexFunc(rest, func(x float32) bool { return x-x != 0 }), 0)
			return fmt.Errorf("%w: element %d is %v, which integers cannot represent", ErrQuantization, z.observed+len(src)-len(rest)+bad, rest[bad])
		}
		rest = rest[n:]
	}
	z.observed += len(src)
	return nil
}

// Parameters returns the parameters for the observed elements, or nil for Float16 and an
// Encoding. It returns ErrShape until all elements are observed. It also makes Encode start
// over at the first element.
func (z *Quantizer) Parameters() (*Quantization, error) {
	z.encoded = 0
	z.errors = vector.Errors{}
	z.rows = vector.NewZeroRows(z.info.Shape)
	if z.info.Encoding != nil || z.info.Quant != nil {
		return z.info.Quant, nil
	}
	if z.observed != z.elems {
		return nil, fmt.Errorf("%w: %d of %d elements were observed", ErrShape, z.observed, z.elems)
	}
	z.grow(z.channels)
	q := &Quantization{Axis: z.axis, Scales: make([]float32, z.channels)}
	z.columns = make([]vector.Steps, z.channels)
	for c := range q.Scales {
		var zero int32
		q.Scales[c], zero = z.parameters(z.lo[c], z.hi[c])
		if z.columns[c] = z.lim.steps(q.Scales[c], zero); z.asymmetric {
			q.ZeroPoints = append(q.ZeroPoints, zero)
		}
	}
	z.lo = nil
	z.hi = nil
	if !z.asymmetric && z.lim.middle != 0 {
		q.ZeroPoints = []int32{z.lim.middle} // missing zero points mean 0
	}
	z.info.Quant = q
	return q, nil
}

// Encode quantizes the next elements to dst, little-endian; dst must have their exact size.
// Call Parameters first, unless there is an Encoding, for which src must be whole blocks.
func (z *Quantizer) Encode(dst []byte, src []float32) error {
	if err := z.room(z.encoded, len(src)); err != nil {
		return err
	}
	// The zero Quantizer has no dtype.
	if z.info.Encoding == nil && (z.info.Quant == nil || z.info.DType == Invalid) {
		return fmt.Errorf("%w: no parameters yet", ErrQuantization)
	}
	elems, _ := z.info.block()
	if int64(len(src))%elems != 0 || len(dst) != z.size(len(src)) {
		return fmt.Errorf("%w: %d bytes for %d elements of %s", ErrShape, len(dst), len(src), z.info.TypeName())
	}
	piece := int(max(encodedPiece/elems, 1) * elems)
	for len(src) > 0 {
		n := min(len(src), piece)
		size := z.size(n)
		if err := z.encode(dst[:size], src[:n]); err != nil {
			return err
		}
		dst = dst[size:]
		src = src[n:]
	}
	return nil
}

// encodedPiece is the number of elements that are encoded and then compared with the
// original while they are in a cache.
const encodedPiece = 4096

// encode encodes a piece and adds up the errors.
func (z *Quantizer) encode(dst []byte, src []float32) error {
	room := borrow(len(src))
	defer scratch.Put(room)
	back := singles(*room)[:len(src)] // the dequantized values
	if e := z.info.Encoding; e != nil {
		if err := e.Encode(dst, src); err != nil {
			return err
		}
		if err := e.Decode(back, dst); err != nil {
			return err
		}
	} else {
		z.toIntegers(dst, src)
		z.info.Quant.convert(back, dst, z.info.DType, z.info.Shape, int64(z.encoded), false)
	}
	z.errors.Add(src, back, z.encoded)
	z.rows.Add(len(src), func(i int) bool { return src[i] != 0 }, func(i int) bool { return back[i] != 0 })
	z.encoded += len(src)
	return nil
}

// toIntegers encodes the next elements by the parameters of their channels.
func (z *Quantizer) toIntegers(dst []byte, src []float32) {
	runs := runsFrom(int64(z.encoded), z.channels, z.axis, z.info.Shape)
	size := z.size(1)
	for len(src) > 0 {
		c, n := runs.next(len(src))
		switch s := z.columns[c:]; {
		case size == 2:
			for i, x := range src[:n] {
				binary.LittleEndian.PutUint16(dst[2*i:], uint16(s[i*runs.step].Integer(x)))
			}
		case runs.step == 1:
			vector.QuantizeRow(dst[:n], src[:n], s[:n])
		default:
			vector.Quantize(dst[:n], src[:n], &s[0])
		}
		dst = dst[n*size:]
		src = src[n:]
	}
}

// size returns the size in bytes of n elements, which are whole blocks.
func (z *Quantizer) size(n int) int {
	elems, bytes := z.info.block()
	return n / int(elems) * int(bytes)
}

// Stats returns the error statistics of the elements encoded so far.
func (z *Quantizer) Stats() QuantStats {
	worst, abs, noise, signal := z.errors.Sums()
	s := QuantStats{MaxAbs: worst, SNR: math.Inf(1), Nonzero: z.errors.Nonzero, Zeroed: z.errors.Zeroed, ZeroRows: z.rows.Count}
	if z.encoded > 0 {
		s.MeanAbs = abs / float64(z.encoded)
	}
	if noise > 0 {
		s.SNR = 10 * math.Log10(signal/noise)
	}
	return s
}

// room returns ErrShape for more elements than the tensor has.
func (z *Quantizer) room(done, n int) error {
	if n > z.elems-done {
		return fmt.Errorf("%w: %d elements after %d of %d", ErrShape, n, done, z.elems)
	}
	return nil
}
