package tensor

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
)

// Range selects the elements From <= i < To along one axis. As in Python, negative numbers count
// from the end: Range{0, -1} selects all but the last element. Range{0, End} selects the whole axis.
// The zero Range is an error unless the axis is empty.
type Range struct{ From, To int64 }

// End, as the To of a Range, means the end of the axis.
const End = math.MaxInt64

// At returns the Range of element i of an axis; a negative i counts from the end. The axis
// remains, with a dim of 1.
func At(i int64) Range {
	if i == -1 {
		return Range{-1, End}
	}
	return Range{i, i + 1}
}

// Slice returns a view of the elements that ranges select, outermost axis first. Axes
// without a range are selected whole.
//
// If the tensor is in memory and the selected elements are contiguous, Slice does not
// copy. Otherwise it copies them to the heap: Info().Offset is then -1, and the view
// outlives the model. From an io.ReaderAt, contiguous elements are read on demand and
// others at once; no other bytes are read.
//
// Blocks of an Encoding cannot be divided: select whole rows, or ranges of the innermost axis
// that are multiples of a block. Errors: ErrShape for ranges outside the shape or through a
// block, ErrDType for elements of unknown size.
func (v View) Slice(ranges ...Range) (View, error) {
	r := v.ref()
	whole := r.Info()
	if whole == nil {
		return View{}, ErrClosed
	}
	sel, err := memory.Resolve(whole.Shape, ranges)
	if err != nil {
		return v.failed(fmt.Errorf("%w: %w", ErrShape, err))
	}
	g, err := blocksOf(whole, sel)
	if err != nil {
		return v.failed(err)
	}
	first, last, n := g.extent()
	info, data := *whole, r.Data()
	info.Shape = make(Shape, len(sel))
	for i, r := range sel {
		info.Shape[i] = r.To - r.From
	}
	info.Size = n * g.unit
	info.Stored = info.Size
	info.Quant = sliceQuant(info.Quant, whole.Shape, sel)
	if last-first+1 != n || !viewed(r) && (data != nil || !r.Owner().Ranged(whole)) {
		return v.gather(&info, g)
	}
	if data == nil || info.Offset >= 0 {
		info.Offset += first * g.unit
	}
	if data != nil {
		data = data[first*g.unit:][:info.Size]
	}
	return View(memory.New(&info, r.Owner(), data)), nil
}

// grid is a selection of indivisible units: elements, or blocks of elements along the innermost
// axis.
type grid struct {
	shape Shape
	sel   []Range
	unit  int64
}

// blocksOf returns the selection in units of blocks.
func blocksOf(info *Info, sel []Range) (grid, error) {
	size, err := info.ByteSize()
	if err != nil {
		return grid{}, err
	}
	n, unit := info.block()
	g := grid{info.Shape.Clone(), slices.Clone(sel), unit}
	last := len(sel) - 1
	if n == 1 || last < 0 {
		return g, nil
	}
	if info.Encoding.Flat && info.Shape[last]%n != 0 { // rows share blocks
		for i, r := range sel {
			if r.From != 0 || r.To != info.Shape[i] {
				return g, fmt.Errorf("%w: range %d:%d of axis %d, whose rows share bytes as %s", ErrShape, r.From, r.To, i, info.TypeName())
			}
		}
		return grid{Shape{1}, []Range{{0, 1}}, size}, nil
	}
	r := sel[last]
	if r.From%n != 0 || r.To%n != 0 {
		return g, fmt.Errorf("%w: range %d:%d of axis %d, which %s stores in blocks of %d", ErrShape, r.From, r.To, last, info.TypeName(), n)
	}
	g.shape[last] /= n
	g.sel[last] = Range{r.From / n, r.To / n}
	return g, nil
}

// failed returns err, with the name of the tensor, and a view whose methods return it.
func (v View) failed(err error) (View, error) {
	info := v.ref().Info()
	if info == nil {
		return View{}, ErrClosed
	}
	return refuse(info, v.explain(err))
}

// refuse returns err and a view whose methods return it.
func refuse(info *Info, err error) (View, error) {
	info = &Info{Name: info.Name, DType: info.DType, Encoding: info.Encoding, Offset: -1}
	return View(memory.New(info, memory.Owner[Info](&refused{err: err}), nil)), err
}

// refused is the owner of views that were returned with an error.
type refused struct {
	heap
	err error
}

func (r *refused) Enter(*Info) error          { return r.err }
func (r *refused) Expose(*Info) error         { return r.err }
func (r *refused) Explain(*Info, error) error { return r.err }

// extent returns the indexes of the first and the last selected unit and the number of units. They
// are contiguous if n is last-first+1.
func (g grid) extent() (first, last, n int64) {
	n = 1
	step := int64(1)
	for i := len(g.sel) - 1; i >= 0; i-- {
		first += g.sel[i].From * step
		last += (g.sel[i].To - 1) * step
		n *= g.sel[i].To - g.sel[i].From
		step *= g.shape[i]
	}
	if n == 0 {
		return 0, -1, 0
	}
	return first, last, n
}

// probeOver is the size above which gather reads the last byte before it allocates.
const probeOver = 1 << 20

// gather copies the selected units to the heap.
func (v View) gather(info *Info, g grid) (View, error) {
	if !memory.Addressable(info.Size) {
		return v.failed(fmt.Errorf("%w: %d bytes are more than this platform can address", ErrLimit, info.Size))
	}
	var out []byte
	err := v.access(context.Background(), func(p parts) error {
		if _, last, _ := g.extent(); p.data == nil && info.Size > probeOver {
			if err := p.copy(make([]byte, 1), last*g.unit); err != nil {
				return err
			}
		}
		out = memory.Aligned(int(info.Size))
		_, err := g.copy(out, 0, &p)
		return err
	})
	if err != nil {
		return v.failed(err)
	}
	info.Offset, info.Stored, info.Compression = -1, info.Size, ""
	return onHeap(info, out), nil
}

// copy copies the selection from the bytes at off to dst, run by run, and returns the rest of dst.
func (g grid) copy(dst []byte, off int64, p *parts) ([]byte, error) {
	if first, last, n := g.extent(); last-first+1 == n {
		n *= g.unit
		return dst[n:], p.copy(dst[:n], off+first*g.unit)
	}
	inner := grid{g.shape[1:], g.sel[1:], g.unit}
	row := g.unit
	for _, d := range inner.shape {
		row *= d
	}
	var err error
	for i := g.sel[0].From; i < g.sel[0].To && err == nil; i++ {
		dst, err = inner.copy(dst, off+i*row, p)
	}
	return dst, err
}

// sliceQuant returns the parameters of the channels selected along the quantized axis. It
// returns invalid parameters unchanged; Dequantize rejects them.
func sliceQuant(q *Quantization, shape Shape, sel []Range) *Quantization {
	if q == nil || q.Axis < 0 || q.Axis >= len(shape) || int64(len(q.Scales)) != shape[q.Axis] {
		return q
	}
	r, out := sel[q.Axis], *q
	out.Scales = q.Scales[r.From:r.To]
	if len(q.ZeroPoints) == len(q.Scales) {
		out.ZeroPoints = q.ZeroPoints[r.From:r.To]
	}
	return &out
}
