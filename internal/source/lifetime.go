package source

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/stripes"
	"github.com/weightmap/weightmap/tensor"
)

// The state word. Each of its changes is one atomic operation that knows the whole
// word at that instant:
//
//	bit 63      closed     Close began; the word is negative from then on
//	bit 62      lent       a raw slice left the library
//	bit 61      gone       the memory was given back
//	bits 32-60  pins       long holds
//	bits 0-31   inside     short uses, as long as goroutines do not meet there
//
// Where they do, short uses are counted in stripes from then on: see package stripes. A
// Pin that finds the region closed takes its count back. So counts flicker after
// Close, but a word that is closed and counts no pin proves that nobody who came
// before Close has one, now or later; and likewise for those inside. Close
// latches these proofs.
const (
	closed = -1 << 63
	lent   = 1 << 62
	gone   = 1 << 61
	pin    = 1 << 32
	inside = 1
)

// isUnpinned reports whether state s counts no pin.
func isUnpinned(s int64) bool { return s&(gone-pin) == 0 }

// Enter holds the memory for a short use, until Leave; Close waits for it.
// It fails with tensor.ErrClosed after Close began. It allocates nothing, but once
// when goroutines meet here for the first time.
func (r *Region) Enter() error {
	if p := r.stripes.Load(); p != nil {
		n := p.Own()
		n.Add(1)
		if r.state.Load() < 0 {
			return r.refuse(n, 1)
		}
		return nil
	}
	if s := r.state.Load(); s >= 0 && r.state.CompareAndSwap(s, s+inside) {
		return nil
	}
	return r.enterAgain()
}

// enterAgain is Enter where the region is closed, or another goroutine was faster.
func (r *Region) enterAgain() error {
	if r.Closed() {
		return r.fail(-1, tensor.ErrClosed)
	}
	r.stripes.CompareAndSwap(nil, new(stripes.Counter))
	return r.Enter()
}

// Leave ends what Enter began.
func (r *Region) Leave() {
	var s int64
	if p := r.stripes.Load(); p != nil {
		p.Own().Add(-1)
		s = r.state.Load()
	} else if s = r.state.Add(-inside); int32(s) < 0 {
		panic(unentered)
	}
	if s < 0 {
		r.conclude()
	}
}

// unentered is what misuse panics with: at once while there are no stripes, and when
// Close counts otherwise.
const unentered = "source: Leave without Enter"

// Lend is called before a raw slice leaves the library. From then on only Close
// unmaps, not the garbage collector. It fails with tensor.ErrClosed after Close
// began.
func (r *Region) Lend() error {
	if r.state.Load()&(closed|lent) != lent {
		return r.lendFirst()
	}
	return nil
}

// lendFirst does the work of Lend for the first slice, and its refusal.
func (r *Region) lendFirst() error {
	if r.state.Or(lent) < 0 {
		return r.fail(-1, tensor.ErrClosed)
	}
	// mmap.Open set a finalizer that unmaps. Since ra is reachable from r alone,
	// it is the right one for a region that was dropped, up to this moment.
	if r.ra != nil {
		runtime.SetFinalizer(r.ra, nil)
	}
	// Whoever finds the bit set before the line above ran holds r no longer
	// than this call does, so the finalizer cannot slip in between.
	runtime.KeepAlive(r)
	return nil
}

// Pin holds the memory across Close: that returns, and the memory stays until
// the last unpin, which may be called more than once. It fails with
// tensor.ErrClosed after Close began.
func (r *Region) Pin() (unpin func(), err error) {
	if r.state.Add(pin) < 0 {
		return nil, r.refuse(&r.state, pin)
	}
	var done atomic.Bool
	return func() {
		if done.Swap(true) {
			return
		}
		if r.state.Add(-pin) < 0 {
			r.conclude()
		}
	}, nil
}

// Closed reports whether Close began.
func (r *Region) Closed() bool { return r.state.Load() < 0 }

// Close forbids new uses, waits for those between Enter and Leave, and gives
// the memory back, unless it is pinned: then the last unpin does. Closing again
// waits likewise and returns nil. Close must not be called between the caller's
// own Enter and Leave: it would wait for itself.
func (r *Region) Close() error {
	if r.state.Or(closed) >= 0 {
		r.cancel() // once: a reader may close the model in turn
	}
	r.conclude()
	r.mu.Lock()
	if !r.quiet {
		if r.left == nil {
			r.left = make(chan struct{})
		}
		left := r.left
		r.mu.Unlock()
		<-left
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	err := r.err
	r.err = nil
	return err
}

// refuse takes back what an Enter or Pin counted in n that came too late.
func (r *Region) refuse(n *atomic.Int64, count int64) error {
	n.Add(-count)
	r.conclude()
	return r.fail(-1, tensor.ErrClosed)
}

// conclude is called after each change of a closed region: who waits is woken when
// nobody is inside, and the memory goes back when nobody holds a pin either.
func (r *Region) conclude() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = r.quiet || r.countInside() == 0
	r.unpinned = r.unpinned || isUnpinned(r.state.Load())
	if r.quiet && r.unpinned && !r.freed {
		r.freed = true
		r.state.Or(gone)
		r.err = r.free()
		if r.onFree != nil {
			r.err = errors.Join(r.err, r.onFree())
		}
	}
	if r.quiet && r.left != nil {
		close(r.left)
		r.left = nil
	}
}

// countInside returns how many are inside of a closed region, or came too late and
// did not take that back yet.
func (r *Region) countInside() int64 {
	n := int64(int32(r.state.Load()))
	if p := r.stripes.Load(); p != nil {
		n += p.Sum()
	}
	if n < 0 {
		panic(unentered)
	}
	return n
}

// free gives the memory back, or the file. Heap memory is left to the garbage collector.
func (r *Region) free() error {
	r.head.close()
	if r.file != nil {
		if err := r.file.Close(); err != nil {
			return r.fail(-1, err)
		}
	}
	if r.ra == nil {
		return nil
	}
	if r.debug && protect(r.mem) {
		// The mapping stays, inaccessible, so that its addresses are never reused.
		if r.locked.Load() > 0 {
			unlockMemory(r.mem)
		}
		runtime.SetFinalizer(r.ra, nil)
		return nil
	}
	if err := r.ra.Close(); err != nil {
		return r.fail(-1, err)
	}
	return nil
}
