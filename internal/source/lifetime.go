package source

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/stripes"
	"github.com/weightmap/weightmap/tensor"
)

// The state word. It changes only by atomic operations on the whole word:
//
//	bit 63      closed     Close began; the word is negative from then on
//	bit 62      exposed       a raw slice was returned to the user
//	bit 61      gone       the memory was released
//	bits 32-60  pins       long holds
//	bits 0-31   inside     short uses, until there is contention
//
// Under contention short uses are counted in stripes from then on: see package stripes. A
// Pin that finds the region closed reverts its count. So counts may vary after Close. But a
// word that is closed and counts no pins proves that no pin from before Close is left; the
// same holds for short uses. Close latches these facts.
const (
	closed  = -1 << 63
	exposed = 1 << 62
	gone    = 1 << 61
	pin     = 1 << 32
	inside  = 1
)

// isUnpinned reports whether state s counts no pin.
func isUnpinned(s int64) bool { return s&(gone-pin) == 0 }

// Enter keeps the memory mapped until Leave; Close waits. It fails with
// tensor.ErrClosed after Close began. It allocates only at the first contention.
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

// enterAgain is the slow path of Enter: the region is closed, or there is contention.
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

// unentered is the panic for misuse. With stripes it is detected only by Close.
const unentered = "source: Leave without Enter"

// Expose is called before a raw slice is returned to the user. From then on only Close
// unmaps, not the garbage collector. It fails with tensor.ErrClosed after Close
// began.
func (r *Region) Expose() error {
	if r.state.Load()&(closed|exposed) != exposed {
		return r.exposeFirst()
	}
	return nil
}

// exposeFirst is the slow path of Expose: the first slice, or a closed region.
func (r *Region) exposeFirst() error {
	if r.state.Or(exposed) < 0 {
		return r.fail(-1, tensor.ErrClosed)
	}
	// mmap.Open set a finalizer that unmaps. Since only r refers to ra, it runs
	// when the region becomes unreachable; from now on it must not.
	if r.ra != nil {
		runtime.SetFinalizer(r.ra, nil)
	}
	// The finalizer cannot run before it is removed, even if another goroutine
	// has set the bit: r is reachable until here.
	runtime.KeepAlive(r)
	return nil
}

// Pin keeps the memory mapped until unpin, even after Close. Each unpin may be
// called more than once. Pin fails with tensor.ErrClosed after Close began.
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

// Close prevents new uses, waits for those between Enter and Leave, and releases
// the memory. If the memory is pinned, the last unpin releases it. A second Close
// also waits and returns nil. Calling Close between Enter and Leave of the same
// goroutine deadlocks.
func (r *Region) Close() error {
	isFirst := r.state.Or(closed) >= 0 // a reader may close the model in turn
	if isFirst && r.reader != nil && r.reader.Cancel != nil {
		r.reader.Cancel() // ends running reads, for which Close would wait
	}
	r.conclude()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.left.L = &r.mu; !r.quiet; {
		r.left.Wait()
	}
	err := r.err
	r.err = nil
	return err
}

// refuse reverts the count of an Enter or Pin after Close.
func (r *Region) refuse(n *atomic.Int64, count int64) error {
	n.Add(-count)
	r.conclude()
	return r.fail(-1, tensor.ErrClosed)
}

// conclude is called after each change of a closed region. It wakes waiting calls of Close
// when no use is left, and releases the memory when no pin is left either.
func (r *Region) conclude() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = r.quiet || r.countInside() == 0
	r.unpinned = r.unpinned || isUnpinned(r.state.Load())
	if r.quiet && r.unpinned && r.state.Or(gone)&gone == 0 {
		r.err = r.free()
		if r.onFree != nil {
			r.err = errors.Join(r.err, r.onFree())
		}
	}
	if r.quiet {
		r.left.Broadcast()
	}
}

// countInside returns the number of uses of a closed region, including late ones that are not
// reverted yet.
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

// free unmaps the memory or closes the file. Heap memory is left to the garbage collector.
func (r *Region) free() error {
	if r.parsing() {
		r.head.close()
		r.src = nil // only the parser uses a region that is being parsed
	}
	var err error
	switch {
	case r.file != nil:
		err = r.file.Close()
	case r.ra == nil:
	case r.debug && protect(r.mem):
		// The mapping stays, inaccessible, so that its addresses are never reused.
		if r.locked.Load() > 0 {
			unlockMemory(r.mem)
		}
		runtime.SetFinalizer(r.ra, nil)
	default:
		err = r.ra.Close()
	}
	if err != nil {
		err = r.fail(-1, err)
	}
	return err
}
