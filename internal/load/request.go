package load

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Request is a tensor or a part of one, and the memory to read it to: see format.Request.
type Request struct {
	Tensor string
	Slice  []tensor.Range
	Bytes  []byte
	Floats []float32
}

// target is a checked request.
type target struct {
	*Request
	i      int // index of the tensor
	view   tensor.View
	info   *tensor.Info
	region *source.Region
	file   *source.File // the region's reopened file to read from; nil for none
	space  driver.Space
	off    int64          // offset of the tensor in the file
	sel    []tensor.Range // the slice, for every axis
	elems  int64          // of the slice
	bytes  int64          // size of the slice
	unit   unit
	axis   int  // the axis along which the slice is cut
	whole  bool // not cut: decoded by the driver, or cached by the model
	hashed bool // the tensor's checksum is verified during the read
}

// unit is the indivisible part of a tensor: an element or a block.
type unit struct{ elems, bytes int64 }

// target finds the tensor of a request and checks the request as far as possible before reading.
func (m *Model) target(q *Request) (*target, error) {
	i, ok := m.index.Lookup(q.Tensor)
	if !ok {
		return nil, NotFound(m.desc.Name, m.path, q.Tensor)
	}
	t := &target{Request: q, i: i, info: m.Info(i), unit: unit{1, 1}}
	err := m.at(i, &t.view)
	if err == nil {
		err = t.resolve(m)
	}
	return t, m.named(err, q.Tensor)
}

// named adds the tensor's name to an error that lacks it.
func (m *Model) named(err error, name string) error {
	var e *tensor.Error
	if err == nil || errors.As(err, &e) && e.Field != "" {
		return err
	}
	if e, ok := err.(*tensor.Error); ok {
		c := *e
		c.Field = tensorField(name)
		return &c
	}
	return &tensor.Error{Format: m.desc.Name, Path: m.path, Field: tensorField(name), Offset: -1, Err: err}
}

func (t *target) resolve(m *Model) (err error) {
	t.space, t.off, t.bytes = m.index.Place(t.i)
	if t.region, err = m.spaces.region(t.space); err != nil {
		return err
	}
	if t.sel, err = memory.Resolve(t.info.Shape, t.Slice); err != nil {
		return fmt.Errorf("%w: %w", tensor.ErrShape, err)
	}
	t.elems = 1
	for _, r := range t.sel {
		t.elems *= r.To - r.From
	}
	e, isPart := t.info.Encoding, len(t.Slice) > 0
	switch {
	case e == nil:
		t.unit.bytes = t.info.DType.Size()
		t.bytes = t.elems * t.unit.bytes
	case e.BlockElems > 0 && e.BlockBytes > 0 && (isPart || t.Floats != nil):
		t.unit = unit{e.BlockElems, e.BlockBytes}
		if isPart {
			t.bytes = t.elems / e.BlockElems * e.BlockBytes
		}
	}
	t.whole = m.index.Loaded(t.i) || e != nil && isPart || t.resident() && !t.region.InMemory()
	t.hashed = m.touch.hashes(t.i) && t.Bytes != nil && !isPart && !t.whole
	return t.fits()
}

// resident reports whether the tensor is only to be brought into memory.
func (t *target) resident() bool { return t.Bytes == nil && t.Floats == nil }

// fetches reports whether bytes must be read before they can be used.
func (t *target) fetches() bool { return t.file != nil || !t.region.InMemory() }

// fits returns an error if the request's memory is too small.
func (t *target) fits() error {
	switch {
	case t.Bytes != nil && t.Floats != nil:
		return fmt.Errorf("%w: Bytes and Floats are both set", driver.ErrOption)
	case t.Bytes != nil && int64(len(t.Bytes)) < t.bytes:
		return fmt.Errorf("%w: Bytes has room for %d bytes, not for %d", tensor.ErrShape, len(t.Bytes), t.bytes)
	case t.Floats != nil && int64(len(t.Floats)) < t.elems:
		return fmt.Errorf("%w: Floats has room for %d elements, not for %d", tensor.ErrShape, len(t.Floats), t.elems)
	}
	return nil
}

// chunk is a part of a target that is read at once: a range of the file. It may have gaps, which
// are not selected.
type chunk struct {
	t        *target
	at, size int64 // in the file
	first, n int64 // units, in the order of the slice
}

// hasGaps reports whether the range has bytes that are not selected.
func (p *chunk) hasGaps() bool { return p.n*p.t.unit.bytes < p.size }

// chunkSize bounds the range of a chunk.
const chunkSize = 2 << 20

// cut appends the chunks of t.
func (t *target) cut(chunks []chunk) []chunk {
	n := (t.elems + t.unit.elems - 1) / t.unit.elems
	if e := t.info.Encoding; e != nil && t.unit.bytes == 1 {
		n = t.bytes
	}
	switch {
	case t.bytes == 0:
		return chunks
	case t.whole || t.hashed:
		return append(chunks, chunk{t, t.off, t.bytes, 0, n})
	case len(t.Slice) == 0:
		return t.cutRange(chunks, t.off, 0, n)
	}
	stride, run := t.strides()
	for t.axis < run && (t.sel[t.axis].To-t.sel[t.axis].From == 1 || stride[t.axis] > maxGap) {
		t.axis++
	}
	lead, outer := t.off, int64(1)
	each, size := int64(1), t.unit.bytes // of one index of the axis: units, and their range
	for i, r := range t.sel {
		lead += r.From * stride[i]
		switch n := r.To - r.From; {
		case i < t.axis:
			outer *= n
		case i > t.axis:
			each *= n
			size += (n - 1) * stride[i]
		}
	}
	count := t.sel[t.axis].To - t.sel[t.axis].From
	for k := range outer {
		at := lead + t.offset(k, stride)
		if t.axis == run {
			chunks = t.cutRange(chunks, at, k*count*each, count*each)
			continue
		}
		step := max(1, chunkSize/stride[t.axis])
		for from := int64(0); from < count; from += step {
			n := min(step, count-from)
			chunks = append(chunks, chunk{t, at + from*stride[t.axis], (n-1)*stride[t.axis] + size, (k*count + from) * each, n * each})
		}
	}
	return chunks
}

// cutRange appends the chunks of n contiguous units.
func (t *target) cutRange(chunks []chunk, at, first, n int64) []chunk {
	step := max(1, chunkSize/t.unit.bytes)
	for ; n > 0; n -= step {
		k := min(step, n)
		chunks = append(chunks, chunk{t, at, k * t.unit.bytes, first, k})
		at, first = at+k*t.unit.bytes, first+k
	}
	return chunks
}

// strides returns the distance in bytes between two indexes of each axis, and the axis from which on the
// selection is contiguous.
func (t *target) strides() (stride []int64, run int) {
	stride = make([]int64, len(t.sel))
	bytes := t.unit.bytes
	for i := len(t.sel) - 1; i >= 0; i-- {
		stride[i] = bytes
		bytes *= t.info.Shape[i]
	}
	for run = len(t.sel) - 1; run > 0 && t.sel[run] == (tensor.Range{To: t.info.Shape[run]}); run-- {
	}
	return stride, run
}

// offset returns the distance from the first index of the axes before t.axis to index k, in row-major order.
func (t *target) offset(k int64, stride []int64) (off int64) {
	for i := t.axis - 1; i >= 0; i-- {
		n := t.sel[i].To - t.sel[i].From
		off += k % n * stride[i]
		k /= n
	}
	return off
}

// box returns the ranges of the axes that a chunk with gaps covers.
func (p *chunk) box() []tensor.Range {
	sel := slices.Clone(p.t.sel)
	each := int64(1)
	for _, r := range sel[p.t.axis+1:] {
		each *= r.To - r.From
	}
	k, n := p.first/each, p.n/each
	for i := p.t.axis; i >= 0; i-- {
		d := sel[i].To - sel[i].From
		from := sel[i].From + k%d
		sel[i] = tensor.Range{From: from, To: from + n}
		k, n = k/d, 1
	}
	return sel
}
