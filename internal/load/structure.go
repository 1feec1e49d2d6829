package load

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// structure records what Parse reads from the files of a model, as hashes. Verify, and the check of a signature, fail
// if the files have other bytes by then.
type structure struct {
	memory *driver.Memory

	mu     sync.Mutex
	ranges []parsedRange
	list   *[]parsedRange // pooled memory of ranges, whose number is known only after parsing
	sealed bool
}

// parsedRange is a range of a file that was read. It does not cross a multiple of work.Step.
type parsedRange struct {
	off   int64
	sum   uint64
	space driver.Space
	size  uint32
}

// rangeBytes is the memory of a parsedRange.
const rangeBytes = 24

var rangeLists = sync.Pool{New: func() any { return new([]parsedRange) }}

var structureSeed = maphash.MakeSeed()

// add records that b was read at off.
func (s *structure) add(n driver.Space, b []byte, off int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil && !s.sealed {
		s.list = rangeLists.Get().(*[]parsedRange)
		s.ranges = (*s.list)[:0]
	}
	for len(b) > 0 && !s.sealed {
		p := b[:min(int64(len(b)), work.Step-off%work.Step)]
		if err := s.memory.Reserve(rangeBytes); err != nil {
			return err
		}
		s.ranges = append(s.ranges, parsedRange{off, maphash.Bytes(structureSeed, p), n, uint32(len(p))})
		b, off = b[len(p):], off+int64(len(p))
	}
	return nil
}

// seal ends recording.
func (s *structure) seal() {
	s.sealed = true
	slices.SortStableFunc(s.ranges, func(a, b parsedRange) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.off, b.off))
	})
	if s.list != nil {
		*s.list = s.ranges[:0]
		s.ranges = slices.Clone(slices.Compact(s.ranges))
		rangeLists.Put(s.list)
		s.list = nil
	}
}

// check returns an error that wraps sentinel if b, a range of r, is not what was read.
func (p *parsedRange) check(b []byte, r *source.Region, format string, sentinel error) error {
	if maphash.Bytes(structureSeed, b) == p.sum {
		return nil
	}
	_, path := r.Origin()
	return &tensor.Error{Format: format, Path: path, Field: "header", Offset: p.off, Err: fmt.Errorf("%w: changed since the file was opened", sentinel)}
}

// Unchanged implements driver.Verification.
func (v *verification) Unchanged() error {
	buf := steps.Get().(*[]byte)
	defer steps.Put(buf)
	ranges := v.m.spaces.structure.ranges
	for i := range ranges {
		p := &ranges[i]
		if p.space > 0 && v.m.spaces.files[p.space-1].region.Load() == nil {
			continue // it has no tensor to verify
		}
		r, err := v.m.spaces.region(p.space)
		if err != nil {
			return err
		}
		b := (*buf)[:p.size]
		if _, err := r.ReadAtContext(v.ctx, b, p.off); err != nil {
			return err
		}
		if err := cmp.Or(p.check(b, r, v.m.desc.Name, tensor.ErrCorrupt), v.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// feedParsed writes a range of r to h. It fails if a range nearby is not what Parse has read, so that another process
// cannot show one file to the parser and another to the check of a signature or digest.
func (v *verification) feedParsed(h io.Writer, n driver.Space, r *source.Region, off, size int64, part string) error {
	ranges, sentinel := v.m.spaces.structure.ranges, tensor.ErrCorrupt
	if v.authenticating {
		sentinel = driver.ErrSignature
	}
	for end := off + size; off < end; {
		lo := off - off%work.Step
		hi := min(lo+max(work.Step, v.step()-v.step()%work.Step), end-1-(end-1)%work.Step+work.Step, r.Size())
		i := sort.Search(len(ranges), func(i int) bool {
			p := &ranges[i]
			return p.space > n || p.space == n && p.off >= lo
		})
		err := v.copied(r, lo, hi-lo, hi-lo, func(b []byte) error {
			for ; i < len(ranges) && ranges[i].space == n && ranges[i].off < hi; i++ {
				p := &ranges[i]
				if err := p.check(b[p.off-lo:][:p.size], r, v.m.desc.Name, sentinel); err != nil {
					return err
				}
			}
			_, err := h.Write(b[off-lo : min(end, hi)-lo])
			return err
		})
		if err != nil {
			return err
		}
		v.Done(min(end, hi)-off, part)
		off = hi
	}
	return nil
}
