// Package readonce reads the tensors of a model one after the other in little memory.
package readonce

import (
	"runtime/debug"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

const (
	// evictEvery is how many bytes of a model are in memory at a time.
	evictEvery = 8 << 20
	// freeEvery is how many decoded bytes become garbage before they are collected.
	freeEvery = 32 << 20
)

// Reader evicts what was read of a model. Its methods are safe for concurrent use.
type Reader struct {
	m             Evicter
	used, decoded atomic.Int64
}

// Evicter is a model.
type Evicter interface{ Evict() error }

// New returns a Reader of m.
func New(m Evicter) *Reader { return &Reader{m: m} }

// Tensor returns a view of the same data as v. If the tensor is decoded, it is held in
// memory by that view alone.
func (r *Reader) Tensor(v tensor.View) (tensor.View, error) {
	info := v.Info()
	if v.ZeroCopy() || info.Offset >= 0 {
		return v, nil
	}
	if r.decoded.Add(info.Size) >= freeEvery {
		// The last one may be as large, and is garbage: without this, both would be in memory.
		r.decoded.Store(info.Size)
		debug.FreeOSMemory()
	}
	b, err := v.Bytes()
	if err != nil {
		return v, err
	}
	r.Used(info.Size)
	return tensor.FromInfo(info, b)
}

// Used is told that n bytes were read.
func (r *Reader) Used(n int64) {
	if r.used.Add(n) >= evictEvery {
		r.used.Store(0)
		_ = r.m.Evict() // a hint; a closed model says so elsewhere
	}
}
