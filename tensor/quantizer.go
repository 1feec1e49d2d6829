package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/internal/vector"
)

// Quantizer is Quantize for a tensor that comes in pieces, so that no more than
// a piece is in memory. It sees the elements twice, row-major, in pieces of any
// size: Observe takes all of them, Parameters says how they are mapped, and
// Encode converts them. What it returns is what Quantize returns of the whole.
type Quantizer struct {
	o        QuantizeOptions
	blocks   *Encoding // instead of integers
	shape    Shape
	lim      intLimits
	axis     int
	channels int
	elems    int
	observed int
	encoded  int
	lo, hi   []float32 // the ranges of the channels seen so far, which include 0
	all      []float32 // for a percentile
	q        *Quantization
	columns  []vector.Steps // of q, while elements of different channels lie side by side
	errors   vector.Errors
}

// NewQuantizer returns a Quantizer for a tensor of that shape.
func NewQuantizer(shape Shape, o QuantizeOptions) (*Quantizer, error) {
	elems, err := shape.Elems()
	if err != nil {
		return nil, err
	}
	z := &Quantizer{o: o, blocks: o.Encoding, shape: shape, elems: int(elems), channels: 1}
	if int64(z.elems) != elems {
		return nil, fmt.Errorf("%w: %d elements are more than this platform can address", ErrShape, elems)
	}
	if z.blocks == nil && o.DType == Float16 {
		z.blocks = halfEncoding
	}
	if e := z.blocks; e != nil {
		if e.Encode == nil || e.Decode == nil {
			return nil, fmt.Errorf("%w: cannot quantize to %s", ErrDType, e.Name)
		}
		_, err := e.Bytes(shape)
		return z, err
	}
	if o.DType == Invalid {
		z.o.DType = Int8
	}
	if z.lim, z.axis, err = z.o.limits(); err != nil || z.axis == PerTensor {
		z.grow(1)
		return z, err
	}
	if err := checkAxis(shape, z.axis); err != nil {
		return nil, err
	}
	// An empty tensor may claim any number of channels without an element to show for it.
	if elems == 0 && shape[z.axis] > fewChannels {
		return nil, fmt.Errorf("%w: %d channels without an element", ErrQuantization, shape[z.axis])
	}
	z.channels = int(shape[z.axis])
	z.grow(min(z.channels, fewChannels))
	return z, nil
}

// fewChannels is how many get memory before an element of them was seen.
const fewChannels = 1 << 16

// grow makes room for what is found of n channels: a shape may claim more than there will be.
func (z *Quantizer) grow(n int) {
	if more := n - len(z.lo); more > 0 {
		z.lo, z.hi = append(z.lo, make([]float32, more)...), append(z.hi, make([]float32, more)...)
	}
}

// Observe takes the next elements into account. NaN and infinities are
// ErrQuantization, more elements than the tensor has ErrShape. For a percentile
// it keeps all elements in memory.
func (z *Quantizer) Observe(src []float32) error {
	if err := z.room(z.observed, len(src)); err != nil {
		return err
	}
	if z.blocks != nil || len(src) == 0 {
		z.observed += len(src)
		return nil
	}
	if z.o.Percentile > 0 && z.o.Percentile < 100 {
		z.all = append(z.all, src...)
	}
	runs := runsFrom(int64(z.observed), z.channels, z.axis, z.shape)
	for rest := src; len(rest) > 0; {
		c, n, finite := 0, 0, false
		if runs.inner == 1 {
			c, n = runs.row(len(rest))
			z.grow(c + n)
			finite = vector.RangeRow(rest[:n], z.lo[c:c+n], z.hi[c:c+n])
		} else {
			c, n = runs.next(len(rest))
			z.grow(c + 1)
			z.lo[c], z.hi[c], finite = vector.Range(rest[:n], z.lo[c], z.hi[c])
		}
		if !finite { // memory that changes meanwhile may be by now
			bad := max(slices.IndexFunc(rest, func(x float32) bool { return x-x != 0 }), 0)
			return fmt.Errorf("%w: element %d is %v, which no integer stands for", ErrQuantization, z.observed+len(src)-len(rest)+bad, rest[bad])
		}
		rest = rest[n:]
	}
	z.observed += len(src)
	return nil
}

// Parameters returns what the elements say together, nil for Float16 and an Encoding.
// Before all of them were observed it is ErrShape. It has Encode begin at the first element.
func (z *Quantizer) Parameters() (*Quantization, error) {
	z.encoded, z.errors = 0, vector.Errors{}
	if z.blocks != nil || z.q != nil {
		return z.q, nil
	}
	if z.observed != z.elems {
		return nil, fmt.Errorf("%w: %d of %d elements were observed", ErrShape, z.observed, z.elems)
	}
	z.grow(z.channels)
	z.clip()
	q := &Quantization{Axis: z.axis, Scales: make([]float32, z.channels)}
	z.q = q
	for c := range q.Scales {
		var zero int32
		if q.Scales[c], zero = z.lim.parameters(z.lo[c], z.hi[c], z.o.Asymmetric); z.o.Asymmetric {
			q.ZeroPoints = append(q.ZeroPoints, zero)
		}
	}
	z.lo, z.hi = nil, nil
	if !z.o.Asymmetric && z.lim.middle != 0 {
		q.ZeroPoints = []int32{z.lim.middle} // readers take 0 for granted
	}
	return q, nil
}

// Encode puts the next elements into dst, little-endian, which has room for exactly
// as many. Parameters must have been called. An Encoding takes whole blocks, and no parameters.
func (z *Quantizer) Encode(dst []byte, src []float32) error {
	if err := z.room(z.encoded, len(src)); err != nil {
		return err
	}
	piece := encodedPiece
	if e := z.blocks; e != nil {
		if len(src)%int(e.BlockElems) != 0 || len(dst) != z.size(len(src)) {
			return fmt.Errorf("%w: %d bytes of %s for %d elements", ErrShape, len(dst), e.Name, len(src))
		}
		piece = max(piece/int(e.BlockElems), 1) * int(e.BlockElems)
	} else if z.q == nil || z.o.DType == Invalid { // the zero Quantizer has no dtype
		return fmt.Errorf("%w: no parameters yet", ErrQuantization)
	} else if err := checkRoom(dst, len(src), z.o.DType); err != nil {
		return err
	}
	for len(src) > 0 {
		n := min(len(src), piece)
		size := z.size(n)
		if err := z.encode(dst[:size], src[:n]); err != nil {
			return err
		}
		dst, src = dst[size:], src[n:]
	}
	return nil
}

// encodedPiece is how many elements are encoded at a time and then compared with what
// they stand for, while a cache holds them.
const encodedPiece = 4096

// encode encodes a piece, and adds up what that loses.
func (z *Quantizer) encode(dst []byte, src []float32) error {
	room := scratch.Get().(*[]float32)
	defer scratch.Put(room)
	if len(*room) < len(src) {
		*room = make([]float32, len(src))
	}
	back := (*room)[:len(src)] // what they stand for
	if e := z.blocks; e != nil {
		if err := e.Encode(dst, src); err != nil {
			return err
		}
		if err := e.Decode(back, dst); err != nil {
			return err
		}
	} else {
		z.toIntegers(dst, src)
		z.q.convert(back, dst, z.o.DType, z.shape, int64(z.encoded))
	}
	z.errors.Add(src, back, z.encoded)
	if z.encoded += len(src); z.encoded == z.elems {
		z.columns = nil
	}
	return nil
}

// toIntegers encodes the next elements by the parameters of their channels.
func (z *Quantizer) toIntegers(dst []byte, src []float32) {
	runs, size := runsFrom(int64(z.encoded), z.channels, z.axis, z.shape), int(z.o.DType.Size())
	if runs.inner == 1 && z.columns == nil {
		z.columns = make([]vector.Steps, z.channels)
		for c := range z.columns {
			z.columns[c] = z.steps(c)
		}
	}
	for len(src) > 0 {
		var c, n int
		if runs.inner == 1 {
			c, n = runs.row(len(src))
			toRow(dst, src[:n], z.columns[c:c+n], size)
		} else {
			c, n = runs.next(len(src))
			toRun(dst, src[:n], z.steps(c), size)
		}
		dst, src = dst[n*size:], src[n:]
	}
}

// steps returns how elements of a channel are mapped.
func (z *Quantizer) steps(c int) vector.Steps {
	return z.lim.steps(z.q.Scales[c], z.q.zeroPoint(c))
}

// toRow encodes one element of each channel.
func toRow(dst []byte, src []float32, s []vector.Steps, size int) {
	if size == 1 {
		vector.QuantizeRow(dst[:len(src)], src, s)
		return
	}
	for i, x := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(s[i].Integer(x)))
	}
}

// toRun encodes elements of one channel.
func toRun(dst []byte, src []float32, s vector.Steps, size int) {
	if size == 1 {
		vector.Quantize(dst[:len(src)], src, &s)
		return
	}
	for i, x := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(s.Integer(x)))
	}
}

// size returns how many bytes n elements take, whole blocks of them.
func (z *Quantizer) size(n int) int {
	if e := z.blocks; e != nil {
		return n / int(e.BlockElems) * int(e.BlockBytes)
	}
	return n * int(z.o.DType.Size())
}

// Stats compares what was encoded so far with the original.
func (z *Quantizer) Stats() QuantStats {
	worst, abs, noise, signal := z.errors.Sums()
	s := QuantStats{MaxAbs: worst, SNR: math.Inf(1), Nonzero: z.errors.Nonzero, Zeroed: z.errors.Zeroed}
	if z.encoded > 0 {
		s.MeanAbs = abs / float64(z.encoded)
	}
	if noise > 0 {
		s.SNR = 10 * math.Log10(signal/noise)
	}
	return s
}

// room refuses more elements than the tensor has.
func (z *Quantizer) room(done, n int) error {
	if n > z.elems-done {
		return fmt.Errorf("%w: %d elements after %d of %d", ErrShape, n, done, z.elems)
	}
	return nil
}
