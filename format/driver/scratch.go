package driver

import (
	"slices"
	"sync"
)

// scratch is pooled memory in which an Index collects tensors while their number is
// unknown. Pooling makes growing cheap, and the copy that stays with the model has the
// exact size.
type scratch struct {
	records []record
	extras  []extra
	names   []byte
	dims    []int64
	tables  [2][]uint64 // the table in use and the next
	next    int
}

// mostKept is the maximum number of tensors of a scratch that is returned to the pool.
const mostKept = 64 << 10

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// table returns an empty table of the given size. The previous table stays valid.
func (s *scratch) table(size int) []uint64 {
	t := &s.tables[s.next]
	s.next = 1 - s.next
	*t = slices.Grow((*t)[:0], size)[:size]
	clear(*t)
	return *t
}

// borrow makes the index collect in scratch memory, unless Grow was called.
func (x *Index) borrow() {
	if x.scratch != nil || cap(x.records) > 0 {
		return
	}
	x.scratch = scratches.Get().(*scratch)
	s := x.scratch
	x.records, x.extras, x.dims, x.names = s.records[:0], s.extras[:0], s.dims[:0], s.names[:0]
}

// Seal completes the index and moves it to memory of the exact size. The engine calls it after
// Parse. Scratch memory goes back to the pool, or stays with the index if it is too large for that.
func (x *Index) Seal() {
	s := x.scratch
	if s == nil {
		return
	}
	x.scratch = nil
	if cap(x.records) > mostKept || cap(x.names) > 64*mostKept || cap(x.dims) > 8*mostKept {
		return
	}
	s.records, s.extras, s.dims, s.names = x.records, x.extras, x.dims, x.names
	x.records = append([]record(nil), x.records...)
	x.extras = append([]extra(nil), x.extras...)
	x.dims = append([]int64(nil), x.dims...)
	x.names = append([]byte(nil), x.names...)
	if size := tableSize(len(x.records)); size == len(x.slots) {
		x.slots = append([]uint64(nil), x.slots...)
	} else {
		x.rehash(size)
	}
	clear(s.extras)
	scratches.Put(s)
}
