package driver

import (
	"fmt"
	"math"
	"sync"

	"github.com/weightmap/weightmap/tensor"
)

// Head is the beginning of a file in private memory, for formats that learn only while they read how
// long their structure is. Options.Memory counts it from before it is allocated until Close.
type Head struct {
	src    Source
	o      *Options
	b      []byte
	expect int64
	count  int64 // in Options.Memory
}

// MaxStructure is how many bytes of structure one file may have.
const MaxStructure = 1 << 30

const (
	headStep   = 16 << 10 // the least that is read: this much is in memory since the format was detected
	mostPooled = 8 << 20
)

var headPool = sync.Pool{New: func() any { return &Head{b: make([]byte, 0, headStep)} }}

// ReadHead begins to read a file. Close must follow.
func ReadHead(src Source, o *Options) *Head {
	h := headPool.Get().(*Head)
	h.src, h.o, h.b, h.expect, h.count = src, o, h.b[:0], 0, 0
	return h
}

// Expect says that the structure probably ends at an offset. A wrong guess costs further reads.
func (h *Head) Expect(end int64) { h.expect = end }

// Need returns the first n bytes of the file, and those behind that were read with them. They are valid
// until the next Need or Close. A file with fewer bytes is ErrTruncated.
func (h *Head) Need(n int64) ([]byte, error) {
	size := h.src.Size()
	switch {
	case n <= int64(len(h.b)):
		return h.b, nil
	case n > size:
		return h.b, fmt.Errorf("%w: %d bytes, the file has %d", tensor.ErrTruncated, n, size)
	case n > min(MaxStructure, math.MaxInt):
		return h.b, fmt.Errorf("%w: the structure of the file is larger than %d bytes", tensor.ErrLimit, int64(MaxStructure))
	}
	for have := int64(len(h.b)); have < n; have = int64(len(h.b)) {
		if err := h.o.Context.Err(); err != nil {
			return h.b, err
		}
		next := max(headStep, have+max(have/16, min(have, 256<<10)), n, h.expect)
		// The size of the file may be a claim: never allocate more than a multiple of what was read.
		next = min(next, 64*max(have, headStep), size, MaxStructure)
		if err := h.o.Memory.Reserve(next - h.count); err != nil {
			return h.b, err
		}
		h.count = next
		if next > int64(cap(h.b)) {
			h.b = append(make([]byte, 0, next), h.b...)
		}
		if _, err := h.src.ReadAhead(h.b[have:next], have); err != nil {
			return h.b, err
		}
		h.b = h.b[:next]
	}
	return h.b, nil
}

// Close releases the memory. The first used bytes were structure, which Verify compares.
func (h *Head) Close(used int64) error {
	err := h.src.Record(h.b[:min(used, int64(len(h.b)))], 0)
	h.o.Memory.Release(h.count)
	h.src, h.o = nil, nil
	if cap(h.b) <= mostPooled {
		headPool.Put(h)
	}
	return err
}
