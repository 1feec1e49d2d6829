package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/weightmap/weightmap/tensor"
)

// Errors of Lock where there is nothing to lock.
var (
	ErrNotMapped = errors.New("the file is not mapped")
	ErrNoLock    = errors.New("memory is not locked on this system")
)

// lockStep is how much is locked between two looks at the context.
const lockStep = 64 << 20

// witness keeps the compiler from dropping reads whose values nobody wants.
var witness atomic.Uint32

// lockPages is mlock, for tests to fail.
var lockPages = lockMemory

// Lock brings the window into physical memory and keeps it there until Close. It belongs before the
// region is shared, after Parsed. Without a mapping there is nothing to lock: ErrNotMapped, or ErrNoLock on
// systems that lock nothing.
func (r *Region) Lock(ctx context.Context) error {
	if r.size == 0 || r.whole {
		return nil
	}
	if r.ra == nil {
		return ErrNotMapped
	}
	lo := r.skip - r.skip%os.Getpagesize()
	for end := r.skip + len(r.win); lo < end; lo += lockStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.lock(r.mem[lo:min(end, lo+lockStep)], lo); err != nil {
			return err
		}
	}
	r.whole = true
	return nil
}

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

// Locked returns how many bytes of the window are locked in memory.
func (r *Region) Locked() int64 { return r.locked.Load() }
