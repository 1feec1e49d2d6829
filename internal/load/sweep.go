package load

import (
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
)

// sweepEvery is the number of bytes of a mapping that a verification reads before it evicts them.
const sweepEvery = 8 << 20

// sweeper evicts the pages that a verification has read, so that the process does not
// grow with the file. A model that was used before keeps its pages.
type sweeper struct {
	off    bool // the whole model is verified, and it was used before
	mu     sync.Mutex
	region *source.Region
	lo, hi int64 // the range that was read since the last sweep
	read   int64 // bytes
}

// used records that n bytes at off were read.
func (s *sweeper) used(r *source.Region, off, n int64) {
	if s.off {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r != s.region {
		s.sweep()
		s.region, s.lo = r, off
	}
	s.lo, s.hi = min(s.lo, off), max(s.hi, off+n)
	if s.read += n; s.read >= sweepEvery {
		s.sweep()
		s.lo = off
	}
}

func (s *sweeper) sweep() {
	if s.region != nil && s.lo < s.hi {
		_, _ = s.region.Advise(memory.Evict, s.lo, s.hi-s.lo)
	}
	s.hi, s.read = 0, 0
}
