package load

import (
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// structure records what Parse reads of the files of a model: a hash of each range, which Verify
// compares, and the bytes themselves until a signature was checked.
type structure struct {
	memory *driver.Memory

	mu     sync.Mutex
	ranges []readRange
	hash   maphash.Hash // of the last range
	pooled *[]readRange // that ranges is in while files are parsed
	parsed bool
	keep   bool    // a signature must be checked
	pieces []piece // apart from each other, ascending
}

// readRange is a range of a file.
type readRange struct {
	space     driver.Space
	off, size int64
	sum       uint64
}

const (
	rangeBytes = 32      // that a range takes in memory
	mostPooled = 4 << 10 // ranges
)

// rangePool has memory for ranges while they are read, as their number is known in the end.
var rangePool = sync.Pool{New: func() any { return new([]readRange) }}

var structureSeed = maphash.MakeSeed()

// add records that b was read at off. Reads that follow each other make one range.
func (s *structure) add(n driver.Space, b []byte, off int64) error {
	if len(b) == 0 {
		return nil
	}
	s.fix(n, b, off)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parsed {
		return nil
	}
	last := s.last()
	if last == nil || last.space != n || last.off+last.size != off {
		if err := s.memory.Reserve(rangeBytes); err != nil {
			return err
		}
		if s.pooled == nil {
			s.pooled = rangePool.Get().(*[]readRange)
			s.ranges = (*s.pooled)[:0]
		}
		s.endRange()
		s.ranges = append(s.ranges, readRange{space: n, off: off})
		last = s.last()
	}
	_, _ = s.hash.Write(b)
	last.size += int64(len(b))
	return nil
}

func (s *structure) last() *readRange {
	if len(s.ranges) == 0 {
		return nil
	}
	return &s.ranges[len(s.ranges)-1]
}

// end is called when the files were parsed.
func (s *structure) end() {
	s.parsed = true
	if s.pooled == nil {
		return
	}
	s.endRange()
	*s.pooled, s.ranges = s.ranges, slices.Clone(s.ranges)
	if cap(*s.pooled) <= mostPooled {
		rangePool.Put(s.pooled)
	}
	s.pooled = nil
}

// endRange completes the last range.
func (s *structure) endRange() {
	if r := s.last(); r != nil {
		r.sum = s.hash.Sum64()
	}
	s.hash.SetSeed(structureSeed)
}

// check reads all ranges of the files that are open again, and compares.
func (s *structure) check(v *verification) error {
	for i := range s.ranges {
		x := &s.ranges[i]
		if x.space > 0 && v.m.spaces.files[x.space-1].region.Load() == nil {
			continue // no tensor in it is verified
		}
		r, err := v.m.spaces.region(x.space)
		if err != nil {
			return err
		}
		var h maphash.Hash
		h.SetSeed(structureSeed)
		buf := buffer(min(x.size, work.Step))
		for off, end := x.off, x.off+x.size; err == nil && off < end; off += work.Step {
			p := (*buf)[:min(work.Step, end-off)]
			if _, err = r.ReadAtContext(v.ctx, p, off); err == nil {
				_, _ = h.Write(p)
				err = v.ctx.Err()
			}
		}
		steps.Put(buf)
		if err == nil && h.Sum64() != x.sum {
			_, path := r.Origin()
			err = &tensor.Error{Format: v.m.desc.Name, Path: path, Field: "header", Offset: x.off, Err: fmt.Errorf("%w: changed since the file was opened", tensor.ErrCorrupt)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Unchanged implements driver.Verification.
func (v *verification) Unchanged() error { return v.m.spaces.structure.check(v) }

// stop ends keeping bytes.
func (s *structure) stop() { s.keep, s.pieces = false, nil }

// piece is a part of a file that was read.
type piece struct {
	space driver.Space
	off   int64
	data  []byte
}

func (p *piece) end() int64 { return p.off + int64(len(p.data)) }

// fix replaces what is known in bytes that were read at off, so that no other process can show one
// file to the parser and another to what checks the signature, and keeps the rest.
func (s *structure) fix(n driver.Space, b []byte, off int64) {
	if !s.keep {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, end := off, off+int64(len(b))
	i := s.first(n, off)
	for at < end {
		known := i < len(s.pieces) && s.pieces[i].space == n
		if known && s.pieces[i].off <= at {
			at += int64(copy(b[at-off:], s.pieces[i].data[at-s.pieces[i].off:]))
			i++
			continue
		}
		stop := end
		if known {
			stop = min(end, s.pieces[i].off)
		}
		s.pieces = slices.Insert(s.pieces, i, piece{n, at, slices.Clone(b[at-off : stop-off])})
		at = stop
		i++
	}
}

// first returns the first piece of a file that ends behind off.
func (s *structure) first(n driver.Space, off int64) int {
	return sort.Search(len(s.pieces), func(i int) bool {
		p := &s.pieces[i]
		return p.space > n || p.space == n && p.end() > off
	})
}

// feed writes size bytes at off of a file to h: what was kept from memory, the rest by live.
func (s *structure) feed(h io.Writer, n driver.Space, off, size int64, live func(off, size int64) error, done func(n int64)) error {
	end := off + size
	for i := s.first(n, off); off < end; i++ {
		if i == len(s.pieces) || s.pieces[i].space != n || s.pieces[i].off >= end {
			return live(off, end-off)
		}
		p := &s.pieces[i]
		if off < p.off {
			if err := live(off, p.off-off); err != nil {
				return err
			}
			off = p.off
		}
		known := p.data[off-p.off : min(end, p.end())-p.off]
		if _, err := h.Write(known); err != nil {
			return err
		}
		done(int64(len(known)))
		off += int64(len(known))
	}
	return nil
}
