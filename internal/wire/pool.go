package wire

import "sync"

// Pool has slices that were used before, for lists whose length is not known while they
// are made: what is kept of such a list is a copy that is no longer than it must be.
type Pool[T any] struct{ pool sync.Pool }

// mostPooled is how many elements a slice may have room for that is used again.
const mostPooled = 64 << 10

// Get returns a slice without elements.
func (p *Pool[T]) Get() *[]T {
	if s, ok := p.pool.Get().(*[]T); ok {
		return s
	}
	return new([]T)
}

// Done ends a list: it returns a copy that is no longer than it must be and lets others use
// the memory, or, if that is too large for this, the list itself.
func (p *Pool[T]) Done(s *[]T) []T {
	if cap(*s) > mostPooled {
		return *s
	}
	list := append([]T(nil), *s...)
	p.Put(s)
	return list
}

// Put lets others use the memory of a slice.
func (p *Pool[T]) Put(s *[]T) {
	if cap(*s) <= mostPooled {
		clear(*s)
		*s = (*s)[:0]
		p.pool.Put(s)
	}
}
