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
	g := grid{shape: whole.Shape, sel: sel, unit: whole.DType.Size()}
	if whole.Encoding != nil {
		if g, err = blocksOf(whole.Encoding, whole.Shape, sel); err != nil {
			return v.failed(err)
		}
	}
	info := v.Info()
	info.Shape = make(Shape, len(sel))
	for i, r := range sel {
		info.Shape[i] = r.To - r.From
	}
	if info.Size, err = info.ByteSize(); err != nil {
		return v.failed(err)
	}
	info.Stored = info.Size
	info.Quant = sliceQuant(info.Quant, whole.Shape, sel)
	first, last, n := g.extent()
	contiguous := n == 0 || last-first+1 == n
	if first *= g.unit; n == 0 {
		first = 0
	}
	if contiguous && viewed(r) {
		if info.Offset >= 0 {
			info.Offset += first
		}
		return View(memory.New(&info, r.Owner(), r.Data()[first:first+info.Size:first+info.Size])), nil
	}
	if contiguous && r.Data() == nil && r.Owner().Ranged(whole) {
		info.Offset += first
		return View(memory.New(&info, r.Owner(), nil)), nil
	}
	return v.gather(&info, g)
}

// grid is a selection of indivisible units: elements, or blocks of elements along the innermost
// axis.
type grid struct {
	shape Shape
	sel   []Range
	unit  int64
}

// blocksOf returns the selection in units of blocks.
func blocksOf(e *Encoding, shape Shape, sel []Range) (grid, error) {
	if _, err := e.Bytes(shape); err != nil {
		return grid{}, err
	}
	g := grid{shape.Clone(), slices.Clone(sel), e.BlockBytes}
	last := len(shape) - 1
	if e.Flat && last >= 0 && shape[last]%e.BlockElems != 0 { // rows share blocks
		for i, r := range sel {
			if r.From != 0 || r.To != shape[i] {
				return grid{}, fmt.Errorf("%w: range %d:%d of axis %d, whose rows share bytes as %s", ErrShape, r.From, r.To, i, e.Name)
			}
		}
		size, err := e.Bytes(shape)
		return grid{Shape{1}, []Range{{0, 1}}, size}, err
	}
	if last >= 0 {
		r, n := sel[last], e.BlockElems
		if r.From%n != 0 || r.To%n != 0 {
			return grid{}, fmt.Errorf("%w: range %d:%d of axis %d, which %s stores in blocks of %d", ErrShape, r.From, r.To, last, e.Name, n)
		}
		g.shape[last] /= n
		g.sel[last] = Range{r.From / n, r.To / n}
	}
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
	err := v.access(context.Background(), func(read func(p []byte, off int64) error) error {
		if _, last, _ := g.extent(); info.Size > probeOver {
			if err := read(make([]byte, 1), last*g.unit); err != nil {
				return err
			}
		}
		out = memory.Aligned(int(info.Size))
		_, err := g.copy(out, 0, read)
		return err
	})
	if err != nil {
		return v.failed(err)
	}
	info.Offset, info.Compression = -1, ""
	return onHeap(info, out), nil
}

// copy copies the selection from the bytes at off to dst, run by run, and returns the rest of dst.
func (g grid) copy(dst []byte, off int64, read func(p []byte, off int64) error) ([]byte, error) {
	first, last, n := g.extent()
	switch n *= g.unit; {
	case n == 0:
		return dst, nil
	case (last-first+1)*g.unit == n:
		return dst[n:], read(dst[:n], off+first*g.unit)
	}
	inner := grid{g.shape[1:], g.sel[1:], g.unit}
	row := g.unit
	for _, d := range inner.shape {
		row *= d
	}
	var err error
	for i := g.sel[0].From; i < g.sel[0].To && err == nil; i++ {
		dst, err = inner.copy(dst, off+i*row, read)
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
