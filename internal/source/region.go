package source

import (
	"context"
	"errors"
	"fmt"
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

// Options are the options for opening a file. The zero value is right for production.
type Options struct {
	// Debug makes Close protect the memory instead of unmapping it, so that use
	// after Close faults at once. The addresses stay reserved for the life of the
	// process. The build tag weightmap_debug sets Debug for all files.
	Debug bool
	// Parse makes ReadAt and Copy read from the open file instead of the mapping until
	// Parsed is called.
	Parse bool
	// Private makes the bytes of files and readers private memory, which no other process can
	// change: they are read whole.
	Private bool
	// Context cancels reading whole files. Nil means context.Background.
	Context context.Context
	// Memory, if not nil, limits the memory of a model. It is reserved before a file is read into
	// it.
	Memory Memory
}

// Memory counts and limits the memory of a model: driver.Memory.
type Memory interface {
	Reserve(n int64) error
	Release(n int64)
}

// context returns the Context.
func (o *Options) context() context.Context {
	if o.Context == nil {
		return context.Background()
	}
	return o.Context
}

// Region is the memory or the reader of a model. Its methods are safe for
// concurrent use, except SetOrigin, which must be called before the first view is made.
type Region struct {
	state   atomic.Int64                    // see lifetime.go
	stripes atomic.Pointer[stripes.Counter] // nil until there is contention

	win  []byte // the window; nil for readers
	size int64

	src    io.ReaderAt  // for readers, files that are read on demand, and files that are parsed; nil otherwise
	reader *Reader      // of a program, also if it was read whole; nil otherwise
	file   *os.File     // owned; src reads it
	proven atomic.Int64 // for readers: the number of bytes known to exist

	head head                 // while a mapped file is parsed
	used atomic.Pointer[used] // of a mapping; nil until its bytes are used in place
	seal *seal                // nil unless what is read is compared

	name  string // the path that the file was opened by
	stamp Stamp  // of the file when it was opened

	ra     *mmap.ReaderAt // holds the mapping, nil when there is none; its finalizer unmaps until Expose clears it
	mem    []byte         // the whole mapping, from which win is cut
	skip   int            // offset of win in mem
	debug  bool
	locked atomic.Int64 // number of locked bytes

	format, path string
	onFree       func() error

	mu       sync.Mutex
	left     sync.Cond // the last Leave after Close
	quiet    bool      // closed, and no short use is left
	unpinned bool      // closed, and no pin is left
	err      error     // error of freeing, until Close returns it
}

// SetOrigin sets the format and the file for error messages. Call it before the
// region is shared.
func (r *Region) SetOrigin(format, path string) { r.format, r.path = format, path }

// Path returns the path that was set by SetOrigin, Open, or a reader with a name.
func (r *Region) Path() string { return r.path }

// Size returns the size of the window in bytes.
func (r *Region) Size() int64 { return r.size }

// InMemory reports whether Bytes returns the window. It is false for readers.
func (r *Region) InMemory() bool { return r.src == nil }

// Mapped reports whether the region is a mapping of a file, not heap memory or a
// reader.
func (r *Region) Mapped() bool { return r.ra != nil }

// OnDemand reports whether the region is a file that is read on demand.
func (r *Region) OnDemand() bool { return r.file != nil }

// IsReader reports whether the region is a reader, which may have to fetch what is read.
func (r *Region) IsReader() bool { return r.src != nil && r.file == nil && !r.parsing() }

// Holds reports whether an address lies in the memory of the window.
func (r *Region) Holds(addr uintptr) bool {
	return fault.Within(addr, memory.Address(r.win), len(r.win))
}

// FaultOffset returns the offset in the window of a fault at an address in its
// memory.
func (r *Region) FaultOffset(addr uintptr) int64 {
	base := memory.Address(r.win)
	return int64(max(addr, base) - base)
}

// ErrCut is the error for a fault in a mapping, which has one signal for a file that was cut short and for
// a disk that fails.
var ErrCut = fmt.Errorf("%w: the file was cut short while it was in use", tensor.ErrTruncated)

// Advise applies an Advice to n bytes of the window at off. Resident returns how many of them are
// in physical memory and mapped in the process, or -1 if unknown; pages that are only in the
// system's cache do not count. Evict skips locked pages and those that also hold other bytes. Other
// systems than Linux and Android support only Lock.
func (r *Region) Advise(a memory.Advice, off, n int64) (int64, error) {
	if err := r.Check(off, n); err != nil {
		return 0, err
	}
	if err := r.Enter(); err != nil {
		return 0, err
	}
	defer r.Leave()
	if r.ra == nil {
		if r.file != nil && a == memory.Prefetch {
			readAhead(int(r.file.Fd()), r.src.(*part).base+off, n)
		}
		if r.src != nil || a != memory.Resident {
			n = 0
		}
		return n, nil
	}
	lo := r.skip + int(off)
	hi := r.skip + int(off+n)
	page := os.Getpagesize()
	var err error
	switch {
	case n == 0:
	case a == memory.Prefetch:
		err = willNeed(r.mem, lo, hi)
	case a == memory.Resident:
		return resident(r.mem, lo, hi), nil
	case a == memory.Lock:
		lo = lo / page * page
		hi = min((hi+page-1)/page*page, len(r.mem))
		err = r.lock(r.mem[lo:hi], lo)
	default:
		lo = (lo + page - 1) / page * page
		if hi < len(r.mem) {
			hi = hi / page * page
		}
		if lo < hi {
			err = forget(r.mem[lo:hi])
			if err == nil {
				r.markEvicted(off, n)
			}
		}
		if errors.Is(err, syscall.EINVAL) {
			err = nil // some of it is locked
		}
	}
	if err != nil {
		return 0, r.fail(off, err)
	}
	return 0, nil
}

// Exposed reports whether a raw slice was returned to the user.
func (r *Region) Exposed() bool { return r.state.Load()&exposed != 0 }

// OnFree sets a function to call after the memory is released. Call it before
// the region is shared.
func (r *Region) OnFree(f func() error) { r.onFree = f }

// fail wraps err with the origin of the region.
//
// Inlining it would add 4 kB to each program.
//
//go:noinline
func (r *Region) fail(off int64, err error) error {
	if e, ok := err.(*tensor.Error); ok && e.Path == r.path && e.Field == "" && e.Offset < 0 {
		err = e.Err // avoids a duplicate name from a reader
	}
	return &tensor.Error{Format: r.format, Path: r.path, Offset: off, Err: err}
}
