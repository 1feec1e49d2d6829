package driver

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/tensor"
)

// Head reads the beginning of a file into private memory, for formats whose structure has a length
// that becomes known only while parsing. Its memory is reserved in ParseOptions.Memory until Close.
type Head struct {
	src    Source
	o      *ParseOptions
	b      []byte
	expect int64
	count  int64 // bytes reserved in ParseOptions.Memory
	// isTaken means that the caller of Take has the memory.
	isTaken bool
}

// MaxStructure is the maximum size of a file's structure in bytes.
const MaxStructure = 1 << 30

const (
	headStep   = 16 << 10 // the minimum to read: detecting the format has read this much already
	mostPooled = 8 << 20
	mostCopied = 1 << 20 // of structure that stays in memory
)

var headPool = sync.Pool{New: func() any { return &Head{b: make([]byte, 0, headStep)} }}

// ReadHead returns a Head of src. The caller must call Close.
func ReadHead(src Source, o *ParseOptions) *Head {
	h := headPool.Get().(*Head)
	h.src = src
	h.o = o
	h.b = h.b[:0]
	h.expect = 0
	h.count = 0
	return h
}

// Expect hints that the structure ends at offset end. A wrong hint costs further reads.
func (h *Head) Expect(end int64) { h.expect = end }

// Need returns at least the first n bytes of the file. They are valid until the next Need or Close.
// It returns ErrTruncated if the file is shorter.
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
		// The size of a reader may be false: allocate at most a multiple of what was read.
		next = min(next, 64*max(have, headStep), size, MaxStructure)
		if err := h.reserve(next); err != nil {
			return h.b, err
		}
		if _, err := h.src.ReadAhead(h.b[have:next], have); err != nil {
			return h.b, err
		}
		h.b = h.b[:next]
	}
	return h.b, nil
}

// reserve makes room for n bytes, and for more if the file has them: growing by little would copy
// a vocabulary of 5 MB five times.
func (h *Head) reserve(n int64) error {
	room := n
	if n > int64(cap(h.b)) {
		room = max(n, min(2*int64(len(h.b)), h.src.Size(), MaxStructure))
	}
	err := h.o.Memory.Reserve(room - h.count)
	if err != nil && room > n {
		room = n
		err = h.o.Memory.Reserve(room - h.count)
	}
	if err != nil {
		return err
	}
	h.count = room
	if n > int64(cap(h.b)) {
		h.b = append(make([]byte, 0, room), h.b...)
	}
	return nil
}

// Take returns the bytes from from to to, which were read, for as long as the caller needs them,
// who reserves their memory.
func (h *Head) Take(from, to int64) []byte {
	b := h.b[from:to]
	isMost := len(b) > mostCopied && len(b) > cap(h.b)/4*3
	if isMost {
		h.isTaken = true
		return slices.Clip(b)
	}
	return bytes.Clone(b)
}

// Close releases the memory. The first used bytes are the structure; they are recorded for Verify.
func (h *Head) Close(used int64) error {
	err := h.src.Record(h.b[:min(used, int64(len(h.b)))], 0)
	h.o.Memory.Release(h.count)
	h.src = nil
	h.o = nil
	if cap(h.b) <= mostPooled && !h.isTaken {
		headPool.Put(h)
	}
	return err
}
