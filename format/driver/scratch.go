package driver

import "sync"

// mostKept is the maximum number of tensors of lists that are returned to the pool.
const mostKept = 64 << 10

// scratches has lists in which an Index collects tensors while their number is unknown. Pooling
// makes growing cheap, and the copy that stays with the model has the exact size.
var scratches = sync.Pool{New: func() any { return new(lists) }}

// borrow makes the index collect in scratch memory, unless Grow was called.
func (x *Index) borrow() {
	if x.scratch != nil || cap(x.records) > 0 {
		return
	}
	s := scratches.Get().(*lists)
	x.scratch = s
	x.lists = lists{s.records[:0], s.extras[:0], s.names[:0], s.dims[:0], s.slots[:0], s.spare[:0]}
}

// Seal completes the index and moves it to memory of the exact size. The engine calls it after
// Parse. Scratch memory goes back to the pool, or stays with the index if it is too large for that.
func (x *Index) Seal() {
	s := x.scratch
	x.scratch = nil
	isLarge := cap(x.records) > mostKept || cap(x.names) > 64*mostKept || cap(x.dims) > 8*mostKept
	if s == nil || isLarge {
		x.spare = nil
		return
	}
	*s = x.lists
	x.lists = lists{}
	x.records = append(x.records, s.records...)
	x.extras = append(x.extras, s.extras...)
	x.names = append(x.names, s.names...)
	x.dims = append(x.dims, s.dims...)
	x.slots = append(x.slots, s.slots...)
	clear(s.extras)
	scratches.Put(s)
}
