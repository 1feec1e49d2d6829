package load

import (
	"encoding/binary"
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

// structure records what Parse reads from the files of a model: the ranges and a hash of their bytes, for
// Verify, and the bytes themselves until a signature is verified.
type structure struct {
	memory *driver.Memory

	mu      sync.Mutex
	runs    []run
	one     [1]run  // suffices for most models
	ranges  []byte  // gap before and size of each, as uvarints
	counted int     // bytes reserved for ranges
	list    *[]byte // pooled memory of ranges, while parsing
	parsed  bool
	keep    bool    // a signature must be checked
	pieces  []piece // disjoint, ascending
}

// run is a sequence of ascending ranges of one file.
type run struct {
	space    driver.Space
	off, end int64
	ranges   int // index of its first range in structure.ranges
	sum      uint64
}

// runBytes is the memory of a run, rangeBytes the maximum memory of a range.
const (
	runBytes   = 40
	rangeBytes = 2 * binary.MaxVarintLen64
)

// rangeLists pools memory for ranges, whose number is known only after parsing.
var rangeLists = sync.Pool{New: func() any { return new([]byte) }}

// seal ends recording.
func (s *structure) seal() {
	s.parsed = true
	if s.list == nil {
		return
	}
	if *s.list = s.ranges; cap(s.ranges) <= mostListed {
		s.ranges = slices.Clone(s.ranges)
		rangeLists.Put(s.list)
	}
	s.list = nil
}

// mostListed is the maximum size of a list that is returned to the pool.
const mostListed = 256 << 10

var structureSeed = maphash.MakeSeed()

// add records that b was read at off.
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
	for len(b) > 0 {
		r, err := s.run(n, off)
		if err != nil {
			return err
		}
		p := b[:min(len(b), work.Step)]
		s.ranges = binary.AppendUvarint(s.ranges, uint64(off-r.end))
		s.ranges = binary.AppendUvarint(s.ranges, uint64(len(p)))
		r.add(p, off)
		b, off = b[len(p):], r.end
	}
	return nil
}

// run returns the run that a range at off continues, and makes room for the range.
func (s *structure) run(n driver.Space, off int64) (*run, error) {
	if len(s.ranges)+rangeBytes > s.counted {
		more := max(s.counted, 3*rangeBytes)
		if err := s.memory.Reserve(int64(more)); err != nil {
			return nil, err
		}
		s.counted += more
	}
	if i := len(s.runs) - 1; i >= 0 && s.runs[i].space == n && s.runs[i].end <= off {
		return &s.runs[i], nil
	}
	if err := s.memory.Reserve(runBytes); err != nil {
		return nil, err
	}
	if s.runs == nil {
		s.runs, s.list = s.one[:0], rangeLists.Get().(*[]byte)
		s.ranges = (*s.list)[:0]
	}
	s.runs = append(s.runs, run{space: n, off: off, end: off, ranges: len(s.ranges)})
	return &s.runs[len(s.runs)-1], nil
}

// add appends the range of b at off.
func (r *run) add(b []byte, off int64) {
	r.sum = r.sum*0x9e3779b97f4a7c15 + maphash.Bytes(structureSeed, b)
	r.end = off + int64(len(b))
}

// check reads all ranges of the open files again and compares the hashes.
func (s *structure) check(v *verification) error {
	for i := range s.runs {
		x := &s.runs[i]
		if x.space > 0 && v.m.spaces.files[x.space-1].region.Load() == nil {
			continue // it has no tensor to verify
		}
		r, err := v.m.spaces.region(x.space)
		if err != nil {
			return err
		}
		now := run{off: x.off, end: x.off}
		err = s.read(v, x, &now, r)
		if err == nil && now.sum != x.sum {
			_, path := r.Origin()
			err = &tensor.Error{Format: v.m.desc.Name, Path: path, Field: "header", Offset: x.off, Err: fmt.Errorf("%w: changed since the file was opened", tensor.ErrCorrupt)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read sets now to the run of x with the current bytes.
func (s *structure) read(v *verification, x, now *run, r *source.Region) error {
	buf := steps.Get().(*[]byte)
	defer steps.Put(buf)
	for at := x.ranges; now.end < x.end; {
		gap, k := binary.Uvarint(s.ranges[at:])
		size, l := binary.Uvarint(s.ranges[at+k:])
		at += k + l
		b, off := (*buf)[:size], now.end+int64(gap)
		if _, err := r.ReadAtContext(v.ctx, b, off); err != nil {
			return err
		}
		now.add(b, off)
		if err := v.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Unchanged implements driver.Verification.
func (v *verification) Unchanged() error { return v.m.spaces.structure.check(v) }

// stop discards the recorded bytes.
func (s *structure) stop() { s.keep, s.pieces = false, nil }

// piece is a part of a file that was read.
type piece struct {
	space driver.Space
	off   int64
	data  []byte
}

func (p *piece) end() int64 { return p.off + int64(len(p.data)) }

// fix records b, the bytes read at off. Bytes that were recorded before replace those in b, so that
// another process cannot show one file to the parser and another to the check of the signature.
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

// first returns the first piece of a file that ends after off.
func (s *structure) first(n driver.Space, off int64) int {
	return sort.Search(len(s.pieces), func(i int) bool {
		p := &s.pieces[i]
		return p.space > n || p.space == n && p.end() > off
	})
}

// feed writes size bytes at off of a file to h: recorded bytes from memory, the rest with live.
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
