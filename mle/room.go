package mle

import (
	"bytes"
	"sync"

	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// room is memory for the structure of a large file. To get and clear fresh memory takes
// longer than what is done in it, so that of a model that was closed serves the next
// one of about that size.
type room struct {
	sections []byte
	spans    []jsonmeta.Span // of names
	slots    []uint32        // of repeated
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// A structure below leastRoom is not worth the trouble, and one above mostRoom is not
// held for another.
const (
	leastRoom = 16 << 10
	mostRoom  = 16 << 20
)

// fitting returns n elements of memory, nil if it has fewer, or so many more that a model
// had better not hold it.
func fitting[T any](memory []T, n int) []T {
	if cap(memory) < n || cap(memory)-n > n/4 {
		return nil
	}
	return memory[:n:n]
}

// takeRoom gets room for sections of so many bytes together.
func (f *parsed) takeRoom(size int64) {
	if leastRoom <= size && size <= mostRoom {
		f.room = rooms.Get().(*room)
	}
}

// private copies n bytes at off of the file into memory that nobody else changes.
func (f *parsed) private(off, n int64) ([]byte, error) {
	if f.room != nil && f.held == nil && n <= mostRoom {
		if f.held = fitting(f.room.sections, int(n)); f.held != nil {
			_, err := f.src.ReadAt(f.held, off)
			return f.held, err
		}
	}
	b, err := f.src.Slice(off, n)
	if err != nil {
		return nil, err
	}
	if f.src.InMemory() {
		b = bytes.Clone(b)
	}
	if f.held == nil && n >= leastRoom {
		f.held = b
	}
	return b, nil
}

// giveRoom leaves the memory to the next model. Whoever was at work has left, and what was
// made of the structure is in memory of its own.
func (f *parsed) giveRoom() {
	if f.room == nil {
		return
	}
	r := f.room
	r.sections, r.spans = f.held, f.names.list
	f.meta, f.graph.b, f.table, f.sig, f.held, f.names, f.room = nil, nil, nil, nil, nil, names{}, nil
	rooms.Put(r)
}
