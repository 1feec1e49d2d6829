package source

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// The state word. Each of Enter, Leave, Pin and unpin is one Add that returns
// the whole word, so that each knows at that instant who else is there:
//
//	bit 63      closed     Close began; the word is negative from then on
//	bit 62      lent       a raw slice left the library
//	bit 61      gone       the memory was given back
//	bits 32-60  pins       long holds
//	bits 0-31   inside     short uses, a signed number
//
// An Enter or Pin that finds the region closed takes its count back. So counts
// flicker after Close, but a word that is closed and counts nobody proves that
// nobody who came before Close is left, now or later. Close latches that proof.
const (
	closed = -1 << 63
	lent   = 1 << 62
	gone   = 1 << 61
	pin    = 1 << 32
	inside = 1
)

// isQuiet reports whether state s counts nobody between Enter and Leave.
func isQuiet(s int64) bool { return int32(s) == 0 }

// isUnpinned reports whether state s counts no pin.
func isUnpinned(s int64) bool { return s&(gone-pin) == 0 }

// Enter holds the memory for a short use, until Leave; Close waits for it.
// It fails with tensor.ErrClosed after Close began. It allocates nothing.
func (r *Region) Enter() error {
	if r.state.Add(inside) < 0 {
		return r.refuse(inside)
	}
	return nil
}

// Leave ends what Enter began.
func (r *Region) Leave() {
	if s := r.state.Add(-inside); s < 0 || int32(s) < 0 {
		r.conclude(s)
	}
}

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
		return nil, r.refuse(pin)
	}
	var done atomic.Bool
	return func() {
		if done.Swap(true) {
			return
		}
		if s := r.state.Add(-pin); s < 0 {
			r.conclude(s)
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
	r.conclude(r.state.Or(closed) | closed)
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

// refuse takes back what an Enter or Pin counted that came too late.
func (r *Region) refuse(count int64) error {
	r.conclude(r.state.Add(-count))
	return r.fail(-1, tensor.ErrClosed)
}

// conclude acts on state s of a closed region, as the Add that
// made it returned it: who waits is woken when nobody is inside, and the memory
// goes back when nobody holds a pin either.
func (r *Region) conclude(s int64) {
	if int32(s) < 0 {
		panic("source: Leave without Enter")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = r.quiet || isQuiet(s)
	r.unpinned = r.unpinned || isUnpinned(s)
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

// free gives the memory back. Heap memory is left to the garbage collector.
func (r *Region) free() error {
	r.head.close()
	if r.ra == nil {
		return nil
	}
	if r.debug && protect(r.mem) {
		// The mapping stays, inaccessible, so that its addresses are never reused.
		runtime.SetFinalizer(r.ra, nil)
		return nil
	}
	if err := r.ra.Close(); err != nil {
		return r.fail(-1, err)
	}
	return nil
}
