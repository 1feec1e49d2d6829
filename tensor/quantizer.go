package tensor

import "fmt"

// Quantizer is Quantize for a tensor that comes in pieces, so that no more than
// a piece is in memory. It sees the elements twice, row-major, in pieces of any
// size: Observe takes all of them, Parameters says how they are mapped, and
// Encode converts them. What it returns is what Quantize returns of the whole.
type Quantizer struct {
	o        QuantizeOptions
	lim      intLimits
	axis     int
	channels int
	inner    int // elements of a channel that are side by side
	elems    int
	observed int
	encoded  int
	found    []keyRange
	narrow   []valueRange // by a percentile
	params   []quantParams
	back     []float32 // what blocks stand for
	sums     errorSums
}

// NewQuantizer returns a Quantizer for a tensor of that shape. Float16, which
// has no parameters, is ErrDType: Encode converts to it.
func NewQuantizer(shape Shape, o QuantizeOptions) (*Quantizer, error) {
	z := &Quantizer{o: o}
	elems, err := shape.Elems()
	if err != nil {
		return nil, err
	}
	z.elems = int(elems) // channelSize refuses what an int does not hold
	if e := o.Encoding; e != nil {
		if e.Encode == nil || e.Decode == nil {
			return nil, fmt.Errorf("%w: cannot quantize to %s", ErrDType, e.Name)
		}
		if _, err := e.Bytes(shape); err != nil {
			return nil, err
		}
		_, err := channelSize(shape, PerTensor, z.elems)
		return z, err
	}
	if z.lim, z.axis, err = o.limits(); err != nil {
		return nil, err
	}
	if z.inner, err = channelSize(shape, z.axis, z.elems); err != nil {
		return nil, err
	}
	if z.channels, err = channelCount(shape, z.axis, z.elems); err != nil {
		return nil, err
	}
	z.grow(min(z.channels, fewChannels))
	return z, nil
}

// fewChannels is how many get memory before an element of them was seen.
const fewChannels = 1 << 16

// grow makes room for what is found of n channels: a shape may claim more than there will be.
func (z *Quantizer) grow(n int) {
	if n > len(z.found) {
		z.found = append(z.found, make([]keyRange, n-len(z.found))...)
	}
}

// Observe takes the next elements into account. NaN and infinities are
// ErrQuantization, more elements than the tensor has ErrShape. A percentile needs
// all elements in one call, anything else is ErrQuantization.
func (z *Quantizer) Observe(src []float32) error {
	if err := z.room(z.observed, len(src)); err != nil {
		return err
	}
	if z.o.Encoding != nil {
		z.observed += len(src)
		return nil
	}
	percentile := z.o.Percentile > 0 && z.o.Percentile < 100
	if percentile && len(src) != z.elems {
		return fmt.Errorf("%w: a percentile is taken of all %d elements at once, not of %d", ErrQuantization, z.elems, len(src))
	}
	for rest := src; len(rest) > 0; {
		r := z.next(z.observed, len(rest))
		z.grow(r.channel + r.channels)
		found := z.found[r.channel : r.channel+r.channels]
		if z.o.Asymmetric {
			widen(found, rest[:r.n], r.inner)
		} else {
			widenBoth(found, rest[:r.n], r.inner)
		}
		for _, k := range found {
			if !k.finite() {
				return notFinite(rest[:r.n], z.observed)
			}
		}
		z.observed, rest = z.observed+r.n, rest[r.n:]
	}
	if percentile {
		z.narrow = z.ranges()
		clipRanges(z.narrow, src, z.inner, z.o)
	}
	return nil
}

// Parameters returns what the elements say together, nil for an Encoding. Before
// all of them were observed it is ErrShape.
func (z *Quantizer) Parameters() (*Quantization, error) {
	if z.o.Encoding != nil {
		return nil, nil
	}
	if z.observed != z.elems {
		return nil, fmt.Errorf("%w: %d of %d elements were observed", ErrShape, z.observed, z.elems)
	}
	ranges := z.narrow
	if ranges == nil {
		ranges = z.ranges()
	}
	q := &Quantization{Axis: z.axis, Scales: make([]float32, z.channels)}
	z.params = make([]quantParams, z.channels)
	for c, r := range ranges {
		z.params[c] = z.lim.params(r, z.o.Asymmetric)
		q.Scales[c] = float32(z.params[c].scale)
	}
	q.ZeroPoints = zeroPoints(z.params, z.o.Asymmetric, z.lim)
	return q, nil
}

// Encode puts the integers for the next elements into dst, little-endian, which
// has room for exactly as many. Parameters must have been called. An Encoding takes
// whole blocks, and no parameters.
func (z *Quantizer) Encode(dst []byte, src []float32) error {
	if z.o.Encoding != nil {
		return z.blocks(dst, src)
	}
	if z.params == nil || z.lim.size == 0 { // the zero Quantizer has neither
		return fmt.Errorf("%w: no parameters yet", ErrQuantization)
	}
	if err := z.room(z.encoded, len(src)); err != nil {
		return err
	}
	if len(dst)/z.lim.size != len(src) || len(dst)%z.lim.size != 0 {
		return fmt.Errorf("%w: %d bytes for %d elements", ErrShape, len(dst), len(src))
	}
	quantize := quantizeBytes
	if z.lim.size == 2 {
		quantize = quantizeWords
	}
	for len(src) > 0 {
		r := z.next(z.encoded, len(src))
		size := r.n * z.lim.size
		z.sums = quantize(dst[:size], src[:r.n], z.params[r.channel:r.channel+r.channels], r.inner, z.sums)
		z.encoded, src, dst = z.encoded+r.n, src[r.n:], dst[size:]
	}
	return nil
}

// blocks is Encode for an Encoding.
func (z *Quantizer) blocks(dst []byte, src []float32) error {
	if err := z.room(z.encoded, len(src)); err != nil {
		return err
	}
	e := z.o.Encoding
	if err := e.Encode(dst, src); err != nil {
		return err
	}
	if cap(z.back) < len(src) {
		z.back = make([]float32, len(src))
	}
	back := z.back[:len(src)]
	if err := e.Decode(back, dst); err != nil {
		return err
	}
	for i, x := range src {
		z.sums = z.sums.add(x, back[i])
	}
	z.encoded += len(src)
	return nil
}

// size returns how many bytes n elements take, whole blocks of them.
func (z *Quantizer) size(n int) int {
	if e := z.o.Encoding; e != nil {
		return n / int(e.BlockElems) * int(e.BlockBytes)
	}
	return n * z.lim.size
}

// Rewind has Encode begin again at the first element, with the same parameters.
func (z *Quantizer) Rewind() { z.encoded, z.sums = 0, errorSums{} }

// Stats compares what was encoded so far with the original.
func (z *Quantizer) Stats() QuantStats { return z.sums.stats(z.encoded) }

// room refuses more elements than the tensor has.
func (z *Quantizer) room(done, n int) error {
	if n > z.elems-done {
		return fmt.Errorf("%w: %d elements after %d of %d", ErrShape, n, done, z.elems)
	}
	return nil
}

func (z *Quantizer) ranges() []valueRange {
	ranges := make([]valueRange, z.channels)
	for c, k := range z.found {
		ranges[c] = valueRange{keyValue(k.lo), keyValue(k.hi)}
	}
	return ranges
}

// run is a stretch of elements: whole channels in turn, inner elements each, or
// a part of one.
type run struct{ n, channel, channels, inner int }

// next returns the longest run from element pos on with at most n elements.
func (z *Quantizer) next(pos, n int) run {
	within := pos % z.inner
	r := run{channel: pos / z.inner % z.channels, channels: 1, inner: z.inner}
	all := z.channels * z.inner
	switch {
	case within > 0 || n < z.inner:
		r.n = min(z.inner-within, n)
		r.inner = r.n
	case r.channel > 0 || n < all:
		r.channels = min(z.channels-r.channel, n/z.inner)
		r.n = r.channels * z.inner
	default:
		r.channels = z.channels
		r.n = n / all * all
	}
	return r
}
