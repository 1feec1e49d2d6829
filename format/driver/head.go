package driver

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/weightmap/weightmap/tensor"
)

// Head reads a part of a file into private memory, for formats whose structure has a length that
// becomes known only while parsing. Its memory is reserved until Close.
type Head struct {
	src    Source
	ctx    context.Context
	memory *Memory
	b      []byte // of the file
	from   int64  // where b begins in the file
	limit  int64  // where the file ends, or what is read of it
	expect int64
	count  int64 // bytes reserved in memory
	// isAgain means that Parse has read the part before.
	isAgain bool
}

// MaxStructure is the maximum size of a file's structure in bytes.
const MaxStructure = 1 << 30

const (
	headStep   = 16 << 10  // the minimum to read: detecting the format has read this much already
	mostAhead  = 256 << 10 // the maximum to read beyond what is needed and expected
	againStep  = 1 << 20   // ends what is read again, since that is compared in such pieces
	mostPooled = 8 << 20
)

var headPool = sync.Pool{New: func() any { return &Head{b: make([]byte, 0, headStep)} }}

// ReadHead returns a Head of src during Parse. The caller must call Close.
func ReadHead(src Source, o *ParseOptions) *Head {
	h := headPool.Get().(*Head)
	*h = Head{src: src, ctx: o.Context, memory: o.Memory, b: h.b[:0], limit: src.Size()}
	return h
}

// ReadAgain returns a Head of what Parse has read from from to end. It reads that with
// Source.ReadAgain. The caller must call Close.
func ReadAgain(src Source, m *Memory, from, end int64) *Head {
	h := headPool.Get().(*Head)
	*h = Head{
		src: src, ctx: context.Background(), memory: m, b: h.b[:0], from: from, limit: end, isAgain: true,
	}
	return h
}

// Expect hints that the structure ends at offset end. A wrong hint costs further reads.
func (h *Head) Expect(end int64) { h.expect = end }

// end returns the offset up to which the file was read.
func (h *Head) end() int64 { return h.from + int64(len(h.b)) }

// Need returns the bytes of the file from offset from to end or beyond. They are valid until the
// next Need or Close. Those before from are not kept: from is never smaller than in a call before.
// It returns ErrTruncated if the file ends before.
func (h *Head) Need(from, end int64) ([]byte, error) {
	kept := h.b[from-h.from:]
	switch {
	case end <= h.end():
		return kept, nil
	case end > h.limit:
		return kept, fmt.Errorf("%w: %d bytes, the file has %d", tensor.ErrTruncated, end, h.limit)
	case end > min(MaxStructure, math.MaxInt):
		return kept, fmt.Errorf("%w: the structure of the file is larger than %d bytes", tensor.ErrLimit, int64(MaxStructure))
	}
	err := h.discard(from)
	if err != nil {
		return nil, err
	}
	for h.end() < end {
		err := h.ctx.Err()
		if err != nil {
			return h.b, err
		}
		err = h.read(h.next(end))
		if err != nil {
			return h.b, err
		}
	}
	return h.b, nil
}

// next returns up to where to read next, of what is needed up to end.
func (h *Head) next(end int64) int64 {
	have := h.end()
	if h.isAgain {
		return min(max(end, (have/againStep+1)*againStep), h.limit)
	}
	next := max(headStep, have+max(int64(len(h.b))/16, min(have, mostAhead)), end, h.expect)
	// The size of a reader may be false: allocate at most a multiple of what was read.
	return min(next, 64*max(have, headStep), h.limit, MaxStructure)
}

// read reads up to an offset.
func (h *Head) read(next int64) error {
	have := len(h.b)
	n := int(next - h.from)
	err := h.reserve(int64(n))
	if err != nil {
		return err
	}
	if h.isAgain {
		_, err = h.src.ReadAgain(h.b[have:n], h.end())
	} else {
		_, err = h.src.ReadAhead(h.b[have:n], h.end())
	}
	if err != nil {
		return err
	}
	h.b = h.b[:n]
	return nil
}

// discard removes the bytes before an offset. They are structure.
func (h *Head) discard(before int64) error {
	if before == h.from {
		return nil
	}
	n := before - h.from
	err := h.record(n)
	if err != nil {
		return err
	}
	h.b = h.b[:copy(h.b, h.b[n:])]
	h.from = before
	return nil
}

// record records the first n bytes for Verify.
func (h *Head) record(n int64) error {
	if h.isAgain || n <= 0 {
		return nil
	}
	return h.src.Record(h.b[:n], h.from)
}

// reserve makes room for n bytes, and for more if the file has them: growing by little would copy
// a table of 5 MB five times.
func (h *Head) reserve(n int64) error {
	room := n
	if n > int64(cap(h.b)) {
		room = max(n, min(2*int64(len(h.b)), h.limit-h.from, MaxStructure))
	}
	err := h.memory.Reserve(max(0, room-h.count))
	if err != nil && room > n {
		room = n
		err = h.memory.Reserve(max(0, room-h.count))
	}
	if err != nil {
		return err
	}
	h.count = max(h.count, room)
	if n > int64(cap(h.b)) {
		h.b = append(make([]byte, 0, room), h.b...)
	}
	return nil
}

// Close releases the memory. The structure ends at offset used; what was read of it is recorded for
// Verify.
func (h *Head) Close(used int64) error {
	err := h.record(min(used-h.from, int64(len(h.b))))
	h.memory.Release(h.count)
	b := h.b
	*h = Head{b: b}
	if cap(b) <= mostPooled {
		headPool.Put(h)
	}
	return err
}
