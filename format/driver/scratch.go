package driver

import (
	"slices"
	"sync"
)

// scratch is what an Index collects tensors in as long as nobody knows how many there
// will be. It is used again for the next file, so that growing it costs little, and
// what stays with a model is as large as it must be.
type scratch struct {
	records []record
	extras  []extra
	names   []byte
	dims    []int64
	tables  [2][]uint64 // the one in use and the next
	next    int
}

// mostKept is how many tensors a scratch has room for that is used again.
const mostKept = 64 << 10

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// table returns an empty table of that size. The last one is still there.
func (s *scratch) table(size int) []uint64 {
	t := &s.tables[s.next]
	s.next = 1 - s.next
	*t = slices.Grow((*t)[:0], size)[:size]
	clear(*t)
	return *t
}

// borrow has the index collect in scratch memory, unless it was told how much comes.
func (x *Index) borrow() {
	if x.scratch != nil || cap(x.records) > 0 {
		return
	}
	x.scratch = scratches.Get().(*scratch)
	s := x.scratch
	x.records, x.extras, x.dims = s.records[:0], s.extras[:0], s.dims[:0]
}

// Seal ends filling the index: what it has is in memory of its own from here on, no more
// than it takes. The engine calls it after Parse.
func (x *Index) Seal() {
	if x.scratch != nil {
		x.leave()
	}
}

// leave copies what there is out of the scratch, and gives that back. What is too large
// to be used again stays with the index instead.
func (x *Index) leave() {
	s := x.scratch
	x.scratch = nil
	x.names.Write(s.names)
	if cap(x.records) > mostKept || cap(s.names) > 64*mostKept || cap(x.dims) > 8*mostKept {
		return
	}
	s.records, s.extras, s.dims, s.names = x.records, x.extras, x.dims, s.names[:0]
	x.records = append([]record(nil), x.records...)
	x.extras = append([]extra(nil), x.extras...)
	x.dims = append([]int64(nil), x.dims...)
	if size := tableSize(len(x.records)); size == len(x.slots) {
		x.slots = append([]uint64(nil), x.slots...)
	} else {
		x.rehash(size)
	}
	clear(s.extras)
	scratches.Put(s)
}
