package format

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Request is a tensor or a part of it, and the caller's memory that Model.Load reads it into.
type Request struct {
	// Tensor is the name of a tensor.
	Tensor string
	// Slice is the part of it, as View.Slice takes it; nil for the whole tensor.
	Slice []tensor.Range
	// Bytes takes the little-endian bytes, as View.ReadInto returns them. It may have more room
	// than that. With neither Bytes nor Floats, Load brings the tensor into memory, where its views
	// find it: its pages are mapped, and what is compressed is decoded and kept.
	Bytes []byte
	// Floats takes the numbers, as tensor.Decode returns them. It may have more room than that.
	Floats []float32
}

// checkedRequest is a request that was checked.
type checkedRequest struct {
	*Request
	pass.Extent     // of the tensor
	i           int // its index
	view        tensor.View
	info        *tensor.Info
	region      *source.Region
	elems       int64 // of the slice
	bytes       int64 // size of the slice
	unit        unit
	runs        memory.Runs // of the slice, unless whole
	whole       bool        // read through the view: decoded by the driver, dequantized, or cached by the model
	hashed      bool        // the checksums that cover the tensor are computed of what is read
	isOneChunk  bool        // they need all of it in order
}

// unit is the indivisible part of a tensor: an element or a block.
type unit struct{ elems, bytes int64 }

// check finds the tensor of a request and checks the request as far as possible before reading. It
// fills t, of which Request is set.
func (t *checkedRequest) check(m *Model) error {
	i, ok := m.index.Lookup(t.Tensor)
	if !ok {
		return m.about(t.Tensor, -1, tensor.ErrNotFound)
	}
	t.Extent = m.extent(i)
	t.i = i
	t.info = m.info(i)
	t.unit = unit{1, 1}
	err := m.at(i, &t.view)
	if err != nil {
		return m.explainTensor(err, t.Tensor)
	}
	return m.explainTensor(t.resolve(m), t.Tensor)
}

func (t *checkedRequest) resolve(m *Model) (err error) {
	t.region, err = m.spaces.region(driver.Space(t.File))
	if err != nil {
		return err
	}
	t.bytes = t.Size
	t.elems = t.view.Elems()
	isPart := len(t.Slice) > 0
	var sel []tensor.Range
	if isPart {
		sel, err = memory.Resolve(nil, t.info.Shape, t.Slice)
		if err != nil {
			return fmt.Errorf("%w: %w", tensor.ErrShape, err)
		}
		t.elems = 1
		for _, r := range sel {
			t.elems *= r.To - r.From
		}
	}
	e := t.info.Encoding
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
	isQuantized := t.info.Quant != nil || e != nil && t.unit.bytes == 1
	t.whole = t.IsAlone || e != nil && isPart || t.Floats != nil && isQuantized || t.resident() && !t.region.InMemory()
	if t.runs = (memory.Runs{Count: 1, Bytes: t.bytes}); isPart && !t.whole {
		t.runs = memory.RunsOf(t.info.Shape, sel, t.unit.bytes)
	}
	return t.fits()
}

// resident reports whether the tensor is only to be brought into memory.
func (t *checkedRequest) resident() bool { return t.Bytes == nil && t.Floats == nil }

// fits returns an error if the request's memory is too small.
func (t *checkedRequest) fits() error {
	switch {
	case t.Bytes != nil && t.Floats != nil:
		return fmt.Errorf("%w: Bytes and Floats are both set", tensor.ErrOption)
	case t.Bytes != nil && int64(len(t.Bytes)) < t.bytes:
		return fmt.Errorf("%w: Bytes has room for %d bytes, not for %d", tensor.ErrShape, len(t.Bytes), t.bytes)
	case t.Floats != nil && int64(len(t.Floats)) < t.elems:
		return fmt.Errorf("%w: Floats has room for %d elements, not for %d", tensor.ErrShape, len(t.Floats), t.elems)
	}
	return nil
}

// chunk is a part of a checked request that is read at once. Its range of the file may have gaps,
// which are not selected.
type chunk struct {
	pass.Extent
	t        *checkedRequest
	first, n int64 // bytes in the slice
}

// isDirect reports whether the bytes of the range are read as they are.
func (p *chunk) isDirect() bool { return p.t.Bytes != nil && p.n == p.Size }

// memory returns the caller's memory for a chunk that isDirect.
func (p *chunk) memory() []byte { return p.t.Bytes[p.first:][:p.n] }

// chunks yields the chunks of t. Runs that are close to each other are one chunk.
func (t *checkedRequest) chunks(yield func(chunk) bool) {
	made := func(off, first, n int64, isAlone bool) chunk {
		return chunk{pass.Extent{File: t.File, Offset: off, Size: n, IsAlone: isAlone}, t, first, n}
	}
	if t.bytes == 0 {
		return
	}
	if t.whole || t.isOneChunk {
		yield(made(t.Offset, 0, t.bytes, t.whole || t.bytes > maxJob))
		return
	}
	step := max(1, maxJob/t.unit.bytes) * t.unit.bytes
	run := t.runs.Bytes
	var last chunk // that the next run may belong to
	for k := range t.runs.Count {
		off := t.Offset + t.runs.At(k)
		if k > 0 && off-(last.Offset+last.Size) <= pass.MaxGap && off+run-last.Offset <= maxJob {
			last.Size = off + run - last.Offset
			last.n += run
			continue
		}
		for from := int64(0); from < run; from += step {
			if last.t != nil && !yield(last) {
				return
			}
			last = made(off+from, k*run+from, min(step, run-from), false)
		}
	}
	yield(last)
}

// decode decodes bytes of the slice, from an offset on, to the caller's memory.
func (t *checkedRequest) decode(offset int64, data []byte) error {
	first := offset / t.unit.bytes * t.unit.elems
	n := int64(len(data)) / t.unit.bytes * t.unit.elems
	dst := t.Floats[first:min(first+n, t.elems)]
	shape := tensor.Shape{int64(len(dst))}
	info := tensor.Info{
		Name: t.Tensor, DType: t.info.DType, Encoding: t.info.Encoding, Shape: shape,
	}
	v, err := tensor.FromInfo(info, data)
	if err != nil {
		return err
	}
	_, err = tensor.Decode(dst[:0:len(dst)], v)
	return err
}

// gather copies the selected bytes of a chunk from b, its range.
func (p *chunk) gather(dst, b []byte) {
	runs := &p.t.runs
	for k := p.first / runs.Bytes; len(dst) > 0; k++ {
		dst = dst[copy(dst[:runs.Bytes], b[p.t.Offset+runs.At(k)-p.Offset:]):]
	}
}
