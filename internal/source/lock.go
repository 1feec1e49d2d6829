package source

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/weightmap/weightmap/tensor"
)

// Errors of Lock.
var (
	ErrNotMapped = errors.New("the file is not mapped")
	ErrNoLock    = errors.New("memory is not locked on this system")
)

// lockStep is the number of bytes locked between checks of the context.
const lockStep = 64 << 20

// lockPages is mlock; tests replace it.
var lockPages = lockMemory

// Lock reads the window into physical memory and keeps it there until Close. Call it after Parsed
// and before the region is shared. It returns ErrNotMapped if there is no mapping, and ErrNoLock on
// systems that cannot lock.
func (r *Region) Lock(ctx context.Context) error {
	if r.Locked() >= r.size {
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
	return nil
}

// lock locks part, the pages of the mapping at lo. Systems return the same error for an exceeded
// limit and for pages beyond the end of a file that was cut short.
func (r *Region) lock(part []byte, lo int) error {
	err := lockPages(part)
	switch {
	case err == nil:
		n := int64(len(part) - max(0, r.skip-lo))
		r.locked.Add(n)
		r.MarkUsed(int64(max(0, lo-r.skip)), n) // its pages are mapped
		return nil
	case err == ErrNoLock:
		return err
	case r.probe(int64(min(lo+len(part)-r.skip, len(r.win)))) != nil: // the end is what is missing of a file that was cut
		return ErrCut
	}
	return fmt.Errorf("%w: the system does not let %d bytes be locked in memory besides %d of this file (RLIMIT_MEMLOCK%s): %w", tensor.ErrLimit, len(part), r.locked.Load(), lockLimit(), err)
}

// Locked returns the number of locked bytes.
func (r *Region) Locked() int64 { return r.locked.Load() }
