package source

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/stripes"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/exp/mmap"
)

// Options adjust how a file is opened. The zero value is right for production.
type Options struct {
	// Debug makes Close re-protect the memory instead of unmapping it, so that
	// use after Close faults at once. Its addresses stay reserved for the life
	// of the process. The build tag weightmap_debug sets it everywhere.
	Debug bool
	// Parse has ReadAt and Head read from the open file instead of the mapping until
	// Parsed is called.
	Parse bool
	// Same, if known, is the only file that is opened: another is ErrReplaced.
	Same ID
	// NoLink refuses a path whose last element is a link: it is not a regular file.
	NoLink bool
	// Memory counts what is read into memory before it is; nil for no account.
	Memory Account
}

// Account counts memory of a model. It is told before that is taken, and may refuse.
type Account interface {
	Reserve(n int64) error
	Release(n int64)
}

// Region is the memory or the reader behind a model. Its methods are safe for
// concurrent use, except SetOrigin, which belongs before the first view.
type Region struct {
	state   atomic.Int64                    // see lifetime.go
	stripes atomic.Pointer[stripes.Counter] // nil until goroutines meet

	win  []byte  // the window; nil for readers
	base uintptr // address of win[0]
	size int64

	src    io.ReaderAt  // for readers and files that are read on demand, and nil otherwise
	file   *os.File     // of our own, that src reads
	proven atomic.Int64 // readers: so many bytes are known to exist

	head head // while a mapped file is parsed

	name string // that the file was opened by
	id   ID     // of the file that is mapped, if it is known

	ra     *mmap.ReaderAt // holds the mapping, nil when there is none; its finalizer unmaps until Lend clears it
	mem    []byte         // the whole mapping, from which win is cut
	skip   int            // offset of win in mem
	debug  bool
	whole  bool         // Lock locked all of it
	locked atomic.Int64 // bytes
	held   int64        // that were reserved

	format, path string
	onFree       func() error

	mu       sync.Mutex
	left     chan struct{} // closed when the last Leave after Close came; made by who waits
	quiet    bool          // closed, and nobody is inside any more
	unpinned bool          // closed, and nobody holds a pin any more
	freed    bool
	err      error // of freeing, until a Close returns it
}

// SetOrigin names the format and the file for error messages. It is called by
// who opened the region, before anybody else sees it.
func (r *Region) SetOrigin(format, path string) { r.format, r.path = format, path }

// Origin returns what SetOrigin, opening by name, or a reader with a name set.
func (r *Region) Origin() (format, path string) { return r.format, r.path }

// Size returns the number of bytes of the window.
func (r *Region) Size() int64 { return r.size }

// InMemory reports whether Bytes returns the window. It is false for readers.
func (r *Region) InMemory() bool { return r.src == nil }

// Mapped reports whether the bytes are a mapping of a file, as opposed to
// heap memory or a reader.
func (r *Region) Mapped() bool { return r.ra != nil }

// OnDemand reports whether the region is a file that is not mapped, but read when bytes
// are asked for.
func (r *Region) OnDemand() bool { return r.file != nil }

// Held returns how many bytes of memory hold the window, as opposed to pages of a file,
// which the system takes away when it needs them.
func (r *Region) Held() int64 {
	if r.ra != nil {
		return 0
	}
	return int64(len(r.win))
}

// Holds reports whether an address lies in the memory of the window, so that a
// fault there is the region's.
func (r *Region) Holds(addr uintptr) bool { return fault.Within(addr, r.base, len(r.win)) }

// FaultOffset returns the offset in the window that a fault at an address that
// Holds knows is about.
func (r *Region) FaultOffset(addr uintptr) int64 { return int64(max(addr, r.base) - r.base) }

// ErrCut is what a fault in a mapping means.
var ErrCut error = truncatedError{"the file was cut short while it was in use"}

// Resident returns how many bytes of the window the process has in physical memory now,
// -1 when the system does not say. What only the system's cache has is not counted.
func (r *Region) Resident() int64 {
	if r.Enter() != nil {
		return -1
	}
	defer r.Leave()
	if r.ra == nil {
		return r.Held()
	}
	return resident(r.mem, r.skip, r.skip+len(r.win))
}

// Advise prefetches, populates, evicts or locks n bytes of the window from off on, or returns how many of them are resident, as
// Prefetch, Populate, Evict and Resident do. Evict leaves pages that have other bytes too.
func (r *Region) Advise(a memory.Advice, off, n int64) (int64, error) {
	if a == memory.Prefetch {
		return 0, r.Prefetch(off, n)
	}
	if err := r.Check(off, n); err != nil {
		return 0, err
	}
	if err := r.Enter(); err != nil {
		return 0, err
	}
	defer r.Leave()
	if a == memory.Populate {
		r.Populate(off, n)
		return 0, nil
	}
	lo, hi := r.skip+int(off), r.skip+int(off+n)
	if a == memory.Resident {
		if r.ra == nil {
			return n, nil
		}
		return resident(r.mem, lo, hi), nil
	}
	if r.ra == nil || n == 0 {
		return 0, nil
	}
	if page := os.Getpagesize(); a == memory.Lock {
		lo, hi = lo/page*page, min((hi+page-1)/page*page, len(r.mem))
	} else if lo, hi = (lo+page-1)/page*page, hi/page*page; lo >= hi {
		return 0, nil
	}
	var err error
	if a == memory.Lock {
		err = r.lock(r.mem[lo:hi], lo)
	} else if err = forget(r.mem[lo:hi]); errors.Is(err, syscall.EINVAL) {
		err = nil // some of it is locked
	}
	if err != nil {
		return 0, r.fail(off, err)
	}
	return 0, nil
}

// Lent reports whether a raw slice left the library.
func (r *Region) Lent() bool { return r.state.Load()&lent != 0 }

// OnFree has f called when the memory was given back. It belongs before the
// region is shared.
func (r *Region) OnFree(f func() error) { r.onFree = f }

// fail wraps err with the origin of the region.
//
// It is called from twenty places, into which it would be copied otherwise: 4 kB of each program.
//
//go:noinline
func (r *Region) fail(off int64, err error) error {
	if e, ok := err.(*tensor.Error); ok && e.Path == r.path && e.Field == "" && e.Offset < 0 {
		err = e.Err // what a reader says of itself is said once
	}
	return &tensor.Error{Format: r.format, Path: r.path, Offset: off, Err: err}
}

// reserve makes sure that n bytes of memory are counted for the region.
func (r *Region) reserve(n int64, o *Options) error {
	if o.Memory == nil || n <= r.held {
		return nil
	}
	if err := o.Memory.Reserve(n - r.held); err != nil {
		return &tensor.Error{Format: r.format, Path: r.path, Field: "file", Offset: -1, Err: err}
	}
	r.held = n
	return nil
}

// release takes back what was reserved for a region that was not opened.
func (r *Region) release(o *Options) {
	if r.held > 0 {
		o.Memory.Release(r.held)
		r.held = 0
	}
}

// Undo closes a region that nobody has seen, and releases what opening it reserved. Close
// does not: it ends with the model, whose account that is.
func (r *Region) Undo(o *Options) {
	r.Close()
	r.release(o)
}
