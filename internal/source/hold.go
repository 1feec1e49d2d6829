package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// Errors of Hold where there is nothing to hold.
var (
	ErrNotMapped = errors.New("the file is not mapped")
	ErrNoLock    = errors.New("memory is not locked on this system")
)

// holdStep is how much is brought into memory between two looks at the context.
const holdStep = 64 << 20

// witness keeps the compiler from dropping reads whose values nobody wants.
var witness atomic.Uint32

// Hold does what Options.Populate and Lock ask for: it brings the window into physical memory
// and keeps it there until Close, once. It belongs before the region is shared, after Parsed. Without
// a mapping there is nothing that could be locked, and nothing to bring in where bytes are read when
// they are asked for: ErrNotMapped, or ErrNoLock on systems that lock nothing.
func (r *Region) Hold(ctx context.Context, o *Options) error {
	if !o.Lock && !o.Populate || r.size == 0 || r.holds {
		return nil
	}
	if r.ra == nil {
		if o.Lock || !r.InMemory() {
			return ErrNotMapped
		}
		return nil
	}
	lo := r.skip - r.skip%os.Getpagesize()
	for end := r.skip + len(r.win); lo < end; lo += holdStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := r.mem[lo:min(end, lo+holdStep)]
		if o.Lock {
			if err := r.lock(part, lo); err != nil {
				return err
			}
		} else if err := r.populate(part); err != nil {
			return err
		}
	}
	r.holds = true
	return nil
}

// populate brings pages of the mapping into memory.
func (r *Region) populate(part []byte) error {
	if populatePages(part) == nil {
		return nil
	}
	return r.touch(part) // also where the file has lost pages, which is found there
}

// touch reads a byte of each page.
func (r *Region) touch(part []byte) error {
	return r.Guard(func() error {
		x := byte(0)
		for at := 0; at < len(part); at += os.Getpagesize() {
			x |= part[at]
		}
		witness.Store(uint32(x))
		return nil
	})
}

// lockPages is mlock, for tests to fail.
var lockPages = lockMemory

// lock locks pages of the mapping, which begin at lo of it. A system answers alike for a limit and for pages that
// the file has lost.
func (r *Region) lock(part []byte, lo int) error {
	err := lockPages(part)
	switch {
	case err == nil:
		r.locked.Add(int64(len(part) - max(0, r.skip-lo)))
		return nil
	case err == ErrNoLock:
		return err
	case r.touch(part) != nil:
		return ErrCut
	}
	return fmt.Errorf("%w: the system does not let %d bytes be locked in memory besides %d of this file (RLIMIT_MEMLOCK%s): %w", tensor.ErrLimit, len(part), r.locked.Load(), lockLimit(), err)
}

// Locked returns how many bytes of the window are locked in memory.
func (r *Region) Locked() int64 { return r.locked.Load() }
