package pass

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
)

// Record keeps hashes of what was read of the files of a model while it was parsed. A later pass
// fails if the files have other bytes by then. The methods that add ranges are safe for concurrent
// use.
type Record struct {
	// Memory limits the memory of a model.
	Memory interface{ Reserve(n int64) error }

	mu     sync.Mutex
	list   *[]Recorded // pooled memory of the ranges until Seal, as their number is unknown
	ranges []Recorded  // after Seal
}

// Recorded is a range of a file that was read. It does not cross a multiple of recordStep.
type Recorded struct {
	Offset int64
	sum    uint64
	File   uint32 // its number
	Size   uint32
}

// End returns where the range ends.
func (r *Recorded) End() int64 { return r.Offset + int64(r.Size) }

// IsSame reports whether b, which was read from the range, is what was recorded.
func (r *Recorded) IsSame(b []byte) bool { return maphash.Bytes(recordSeed, b) == r.sum }

const (
	recordStep   = 1 << 20
	recordMemory = 24 // of a Recorded
)

var recordLists = sync.Pool{New: func() any { return new([]Recorded) }}

var recordSeed = maphash.MakeSeed()

// Add records that b was read from an offset of a file.
func (r *Record) Add(file uint32, b []byte, off int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = recordLists.Get().(*[]Recorded)
	}
	for len(b) > 0 {
		n := min(int64(len(b)), recordStep-off%recordStep)
		if err := r.Memory.Reserve(recordMemory); err != nil {
			return err
		}
		*r.list = append(*r.list, Recorded{off, maphash.Bytes(recordSeed, b[:n]), file, uint32(n)})
		b = b[n:]
		off += n
	}
	return nil
}

// Seal ends recording.
func (r *Record) Seal() {
	if r.list == nil {
		return
	}
	slices.SortStableFunc(*r.list, func(a, b Recorded) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	r.ranges = slices.Clone(slices.Compact(*r.list))
	*r.list = (*r.list)[:0]
	recordLists.Put(r.list)
	r.list = nil
}

// All returns all ranges, by file and offset.
func (r *Record) All() []Recorded { return r.ranges }

// Of returns the ranges of a file, by offset.
func (r *Record) Of(file uint32) []Recorded {
	order := func(p Recorded, file uint32) int { return cmp.Compare(p.File, file) }
	from, _ := slices.BinarySearchFunc(r.ranges, file, order)
	to, _ := slices.BinarySearchFunc(r.ranges, file+1, order)
	return r.ranges[from:to]
}

// Overlaps reports whether a range of a file that was recorded has bytes between two offsets.
func (r *Record) Overlaps(file uint32, from, end int64) bool {
	ranges := r.Of(file)
	step := from - from%recordStep // where the first one that may have them begins, or behind it
	order := func(p Recorded, off int64) int { return cmp.Compare(p.Offset, off) }
	first, _ := slices.BinarySearchFunc(ranges, step, order)
	for i := first; i < len(ranges) && ranges[i].Offset < end; i++ {
		if ranges[i].End() > from {
			return true
		}
	}
	return false
}

// End returns where the last range of a file ends.
func (r *Record) End(file uint32) int64 {
	end := int64(0)
	for _, p := range r.Of(file) {
		end = max(end, p.End())
	}
	return end
}

// Compare reads a recorded range again, and calls changed if it has other bytes.
func (p *Pass) Compare(f File, r *Recorded, changed func(*Recorded) error) error {
	buf := buffer(int64(r.Size))
	defer buffers.Put(buf)
	b := (*buf)[:r.Size]
	err := p.Read(b, Range{File: f, Offset: r.Offset}, nil)
	if err != nil {
		return err
	}
	if !r.IsSame(b) {
		return changed(r)
	}
	return nil
}

// Recorded calls f with consecutive pieces of a range, in private memory. It calls changed if bytes
// in the range or next to it have other bytes than those that were recorded, so that another
// process cannot show one file to the parser and another to the check of a signature.
func (p *Pass) Recorded(r Range, recorded []Recorded, changed func(*Recorded) error, f func(b []byte) error) error {
	r.IsPrivate = true
	for end := r.end(); r.Offset < end; {
		i, _ := slices.BinarySearchFunc(recorded, r.Offset-r.Offset%recordStep, func(x Recorded, off int64) int {
			return cmp.Compare(x.Offset, off)
		})
		recorded = recorded[i:]
		next := end
		if len(recorded) > 0 {
			next = min(end, recorded[0].Offset-recorded[0].Offset%recordStep)
		}
		var err error
		if next > r.Offset {
			r.Size = next - r.Offset
			err = p.Pieces(r, f)
		} else {
			next = min(r.Offset-r.Offset%recordStep+recordStep, end)
			r.Size = next - r.Offset
			err = p.recordedStep(r, recorded, changed, f)
		}
		if err != nil {
			return err
		}
		r.Offset = next
	}
	return p.context().Err()
}

// nearby is the distance up to which Recorded compares what was recorded: a signature is next to
// what it signs.
const nearby = 4 << 10

// recordedStep is Recorded for a range that does not cross a multiple of recordStep.
func (p *Pass) recordedStep(r Range, recorded []Recorded, changed func(*Recorded) error, f func(b []byte) error) error {
	lo := r.Offset
	hi := r.end()
	n := 0
	limit := min(r.end()+nearby, r.Offset-r.Offset%recordStep+recordStep)
	for ; n < len(recorded) && recorded[n].Offset < limit; n++ {
		x := &recorded[n]
		if x.End() > r.Offset-nearby {
			lo = min(lo, x.Offset)
			hi = max(hi, x.End())
		}
	}
	buf := buffer(hi - lo)
	defer buffers.Put(buf)
	b := (*buf)[:hi-lo]
	err := p.Read(b, Range{File: r.File, Offset: lo}, nil)
	if err != nil {
		return err
	}
	for i := range recorded[:n] {
		x := &recorded[i]
		if x.Offset < lo { // it ends before
			continue
		}
		if !x.IsSame(b[x.Offset-lo:][:x.Size]) {
			return changed(x)
		}
	}
	return f(b[r.Offset-lo : r.end()-lo])
}
