package format

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
	if r != s.region || s.read >= sweepEvery {
		if s.region != nil {
			_, _ = s.region.Advise(memory.Evict, s.lo, s.hi-s.lo)
		}
		s.region, s.lo, s.hi, s.read = r, off, off, 0
	}
	s.lo, s.hi, s.read = min(s.lo, off), max(s.hi, off+n), s.read+n
}
