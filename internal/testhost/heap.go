package testhost

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
)

// Heap tells the most memory that was live at a time: unlike resident memory it depends neither on
// the pages of the system nor on when the runtime collects garbage.
type Heap struct {
	before  int64
	highest atomic.Int64
}

// HeapPercent is the GC percentage for exact figures: the heap grows by this share from one
// collection to the next.
const HeapPercent = 25

// WatchHeap returns a Heap whose figures are more than what is live now.
func WatchHeap() *Heap {
	h := &Heap{before: live()}
	h.watch()
	return h
}

// Live collects garbage and returns what is live.
func (h *Heap) Live() int64 { return live() - h.before }

// Peak returns the most that a garbage collection found live since WatchHeap or the last Reset.
func (h *Heap) Peak() int64 {
	h.look()
	return h.highest.Load() - h.before
}

// Reset forgets the peak.
func (h *Heap) Reset() { h.highest.Store(0) }

// MostFound returns the limit for Peak if most bytes may be live: what a program allocates while
// garbage is collected counts as live.
func MostFound(most int64) int64 { return most + most/3 + 4<<20 }

// MostResident returns the limit for resident memory if most bytes may be live. It is wide:
// garbage, the size of pages and how exactly the system counts them differ from machine to machine.
func MostResident(most int64) int64 { return 2*most + 32<<20 }

// sentinel is unreachable from the beginning, so that its finalizer runs after the next garbage
// collection.
type sentinel struct{ of *Heap }

func (h *Heap) watch() {
	runtime.SetFinalizer(&sentinel{h}, func(s *sentinel) {
		s.of.look()
		s.of.watch()
	})
}

func (h *Heap) look() {
	now := marked()
	for {
		old := h.highest.Load()
		if now <= old || h.highest.CompareAndSwap(old, now) {
			return
		}
	}
}

// live collects garbage twice, the second time what pools have kept, and returns what is left.
func live() int64 {
	runtime.GC()
	runtime.GC()
	return marked()
}

// marked returns the bytes that the last garbage collection found live.
func marked() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
