package format

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// structure records what Parse reads from the files of a model, as hashes. Verify, and the check of a signature, fail
// if the files have other bytes by then.
type structure struct {
	memory *driver.Memory

	mu     sync.Mutex
	list   *[]parsedRange // pooled memory of the ranges while parsing, as their number is unknown
	ranges []parsedRange  // after parsing
}

// parsedRange is a range of a file that was read. It does not cross a multiple of work.Step.
type parsedRange struct {
	off   int64
	sum   uint64
	space driver.Space
	size  uint32
}

func (p *parsedRange) end() int64 { return p.off + int64(p.size) }

// rangeBytes is the memory of a parsedRange.
const rangeBytes = 24

var rangeLists = sync.Pool{New: func() any { return new([]parsedRange) }}

var structureSeed = maphash.MakeSeed()

// add records that b was read at off.
func (s *structure) add(n driver.Space, b []byte, off int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = rangeLists.Get().(*[]parsedRange)
	}
	for len(b) > 0 {
		p := b[:min(int64(len(b)), work.Step-off%work.Step)]
		if err := s.memory.Reserve(rangeBytes); err != nil {
			return err
		}
		*s.list = append(*s.list, parsedRange{off, maphash.Bytes(structureSeed, p), n, uint32(len(p))})
		b, off = b[len(p):], off+int64(len(p))
	}
	return nil
}

// seal ends recording.
func (s *structure) seal() {
	if s.list == nil {
		return
	}
	slices.SortStableFunc(*s.list, func(a, b parsedRange) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.off, b.off))
	})
	s.ranges = slices.Clone(slices.Compact(*s.list))
	*s.list = (*s.list)[:0]
	rangeLists.Put(s.list)
	s.list = nil
}

// of returns the ranges of a space, in order.
func (s *structure) of(n driver.Space) []parsedRange {
	order := func(p parsedRange, n driver.Space) int { return cmp.Compare(p.space, n) }
	from, _ := slices.BinarySearchFunc(s.ranges, n, order)
	to, _ := slices.BinarySearchFunc(s.ranges, n+1, order)
	return s.ranges[from:to]
}

// end returns where the structure that was read of a file ends.
func (s *structure) end(n driver.Space) int64 {
	end := int64(0)
	for _, r := range s.of(n) {
		end = max(end, r.end())
	}
	return end
}

// check returns an error that wraps sentinel if b, a range of r, is not what was read.
func (p *parsedRange) check(b []byte, r *source.Region, format string, sentinel error) error {
	if maphash.Bytes(structureSeed, b) == p.sum {
		return nil
	}
	return &tensor.Error{Format: format, Path: r.Path(), Field: "header", Offset: p.off, Err: fmt.Errorf("%w: changed since the file was opened", sentinel)}
}

// unchanged checks that the structure that Parse read has not changed in the files.
func (v *verification) unchanged() error {
	buf := steps.Get().(*[]byte)
	defer steps.Put(buf)
	ranges := v.m.spaces.structure.ranges
	for i := range ranges {
		p := &ranges[i]
		r := v.m.spaces.files[p.space].region.Load()
		if r == nil {
			continue // it has no tensor to verify
		}
		b := (*buf)[:p.size]
		if err := v.pass.Read(b, pass.Range{File: r, Offset: p.off}, nil); err != nil {
			return err
		}
		if err := cmp.Or(p.check(b, r, v.m.desc.Name, tensor.ErrCorrupt), v.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// Feed implements driver.Verification. It fails if bytes in or next to the range are not what Parse has read, so that another process cannot show one file to the parser and another to the check of a signature.
func (v *verification) Feed(h io.Writer, n driver.Space, off, size int64, part string) error {
	r, err := v.m.spaces.region(n)
	if err == nil {
		err = r.Check(off, size)
	}
	write := func(b []byte) error {
		if part != "" {
			v.Done(int64(len(b)), part)
		}
		_, err := h.Write(b)
		return err
	}
	parsed := v.m.spaces.structure.of(n)
	for next, end := off, off+size; err == nil && off < end; off = next {
		i, _ := slices.BinarySearchFunc(parsed, off-off%work.Step, func(p parsedRange, off int64) int { return cmp.Compare(p.off, off) })
		parsed = parsed[i:]
		if next = end; len(parsed) > 0 {
			next = min(end, parsed[0].off-parsed[0].off%work.Step)
		}
		if next > off {
			err = v.pass.Pieces(pass.Range{File: r, Offset: off, Size: next - off, IsPrivate: true}, write)
		} else {
			next = min(off-off%work.Step+work.Step, end)
			err = v.feedParsed(parsed, r, off, next, write)
		}
	}
	return cmp.Or(err, v.ctx.Err())
}

// nearby is the distance up to which Feed checks what Parse has read: a signature is next to what it signs.
const nearby = 4 << 10

// feedParsed calls write with a range of r that does not cross a multiple of work.Step, if the ranges of parsed in it
// and nearby, up to that multiple, are unchanged.
func (v *verification) feedParsed(parsed []parsedRange, r *source.Region, off, end int64, write func([]byte) error) error {
	lo, hi, n := off, end, 0
	limit := min(end+nearby, off-off%work.Step+work.Step)
	for ; n < len(parsed) && parsed[n].off < limit; n++ {
		if p := &parsed[n]; p.end() > off-nearby {
			lo, hi = min(lo, p.off), max(hi, p.end())
		}
	}
	buf := steps.Get().(*[]byte)
	defer steps.Put(buf)
	b := (*buf)[:hi-lo]
	err := v.pass.Read(b, pass.Range{File: r, Offset: lo}, nil)
	for i := range parsed[:n] {
		p := &parsed[i]
		if err == nil && p.off >= lo { // otherwise it ends before
			err = p.check(b[p.off-lo:][:p.size], r, v.m.desc.Name, tensor.ErrCorrupt)
		}
	}
	if err == nil {
		err = write(b[off-lo : end-lo])
	}
	return cmp.Or(err, v.ctx.Err())
}
