package tensor

import (
	"context"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/memory"
)

// Range selects the elements From <= i < To along one axis. As in Python, negative numbers count
// from the end: Range{0, -1} selects all but the last element. Range{0, End} selects the whole
// axis. The zero Range is an error unless the axis is empty.
type Range struct {
	From, To int64 // absolute, or negative from the end
}

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
	var few [usualRank]Range
	sel, err := memory.Resolve(few[:0], whole.Shape, ranges)
	if err != nil {
		return v.failed(fmt.Errorf("%w: %w", ErrShape, err))
	}
	runs, err := runsOf(whole, sel)
	if err != nil {
		return v.failed(err)
	}
	out := new(slicedInfo)
	info := &out.info
	*info = *whole
	data := r.Data()
	info.Shape = out.dims[:0]
	for _, r := range sel {
		info.Shape = append(info.Shape, r.To-r.From)
	}
	info.Size = runs.Count * runs.Bytes
	info.Stored = info.Size
	info.Quant = sliceQuant(info.Quant, whole.Shape, sel)
	if runs.Count > 1 || !viewed(r) && (data != nil || !isInFile(r)) {
		return v.gather(info, runs)
	}
	if data == nil || info.Offset >= 0 {
		info.Offset += runs.At(0)
	}
	if data != nil {
		data = data[runs.At(0):][:info.Size]
	}
	return View(memory.New(info, r.Owner(), data)), nil
}

// usualRank is the rank up to which a slice takes one allocation.
const usualRank = 4

// slicedInfo is an Info with the memory of its shape.
type slicedInfo struct {
	info Info
	dims [usualRank]int64
}

// isInFile reports whether the bytes are read from a file.
func isInFile(r *memory.Ref[Info]) bool {
	f, _ := r.Owner().File(r.Info())
	return f != nil
}

// runsOf returns where the selected elements are. Blocks along the innermost axis are indivisible.
func runsOf(info *Info, sel []Range) (memory.Runs, error) {
	size, err := info.ByteSize()
	if err != nil {
		return memory.Runs{}, err
	}
	n, unit := info.block()
	last := len(sel) - 1
	if n == 1 || last < 0 {
		return memory.RunsOf(info.Shape, sel, unit), nil
	}
	if info.Encoding.Flat && info.Shape[last]%n != 0 { // rows share blocks
		for i, r := range sel {
			if r.From != 0 || r.To != info.Shape[i] {
				return memory.Runs{}, fmt.Errorf("%w: range %d:%d of axis %d, whose rows share bytes as %s", ErrShape, r.From, r.To, i, info.TypeName())
			}
		}
		return memory.Runs{Count: 1, Bytes: size, Unit: size}, nil
	}
	var dims [usualRank]int64
	var ranges [usualRank]Range
	shape := append(dims[:0], info.Shape...)
	blocks := append(ranges[:0], sel...)
	if !memory.InBlocks(shape, blocks, n) {
		r := sel[last]
		return memory.Runs{}, fmt.Errorf("%w: range %d:%d of axis %d, which %s stores in blocks of %d", ErrShape, r.From, r.To, last, info.TypeName(), n)
	}
	return memory.RunsOf(shape, blocks, unit), nil
}

// failed returns err, with the name of the tensor, and a view whose methods return it.
func (v View) failed(err error) (View, error) {
	info := v.Info()
	return refuse(&info, v.explain(err))
}

// refuse returns err and a view whose methods return it.
func refuse(info *Info, err error) (View, error) {
	info = &Info{Name: info.Name, DType: info.DType, Encoding: info.Encoding, Offset: -1}
	return View(memory.New[Info](info, memory.Failed[Info]{Err: err}, nil)), err
}

// probeOver is the size above which gather reads the last byte before it allocates.
const probeOver = 1 << 20

// gather copies the selected bytes to the heap.
func (v View) gather(info *Info, runs memory.Runs) (View, error) {
	if !memory.Addressable(info.Size) {
		return v.failed(fmt.Errorf("%w: %d bytes are more than this platform can address", ErrLimit, info.Size))
	}
	var out []byte
	_, span := spanOf(&runs)
	err := v.access(context.Background(), span, func(r reading) error {
		if r.file != nil && r.file.Memory() == nil && info.Size > probeOver {
			err := r.copy(make([]byte, 1), runs.At(runs.Count-1)+runs.Bytes-runs.Unit)
			if err != nil {
				return err
			}
		}
		out = memory.Aligned(int(info.Size))
		return r.gather(out, &runs)
	})
	if err != nil {
		return v.failed(err)
	}
	info.Offset = -1
	info.Stored = info.Size
	info.Compression = ""
	return onHeap(info, out), nil
}

// sliceQuant returns the parameters of the channels selected along the quantized axis. It
// returns invalid parameters unchanged; Dequantize rejects them.
func sliceQuant(q *Quantization, shape Shape, sel []Range) *Quantization {
	if q == nil || q.Axis < 0 || q.Axis >= len(shape) || int64(len(q.Scales)) != shape[q.Axis] {
		return q
	}
	r := sel[q.Axis]
	out := *q
	out.Scales = q.Scales[r.From:r.To]
	if len(q.ZeroPoints) == len(q.Scales) {
		out.ZeroPoints = q.ZeroPoints[r.From:r.To]
	}
	return &out
}
