package format

import (
	"cmp"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
)

// extent is a range of a file, which tensors may share.
type extent struct {
	space     driver.Space
	off, size int64
	alone     bool // read by itself, such as a compressed tensor
}

// extent returns the data of tensor i.
func (m *Model) extent(i int) (e extent) {
	e.space, e.off, e.size = m.index.Place(i)
	e.alone = m.index.Loaded(i)
	return e
}

// compare compares places in the files of a model.
func (e extent) compare(x extent) int {
	return cmp.Or(cmp.Compare(e.space, x.space), cmp.Compare(e.off, x.off), cmp.Compare(e.size, x.size))
}

// job is a run of neighbors that are read at once, and the range of all of them.
type job struct {
	extent
	from, to int
}

// maxGap is the maximum number of unused bytes between two neighbors.
const maxGap = 32 << 10

// maxJob is the maximum size of a job of several neighbors. From a reader, Verify reads more at a time.
const maxJob = 2 << 20

// eachJob divides n items in the order of the files, of which at returns the extents, into jobs of
// at most v.limit bytes, and calls run with them on the workers. Items with the same extent are in the same job.
func (v *verification) eachJob(n int, at func(k int) extent, run func(j *job) error) error {
	var jobs []job
	for from := 0; from < n; {
		j := job{at(from), from, from + 1}
		for last := j.extent; j.to < n && !j.alone; j.to++ {
			next := at(j.to)
			size := max(j.size, next.off+next.size-j.off)
			if next.space != j.space || next.alone || next != last && (next.off-j.off-j.size > maxGap || size > v.limit) {
				break
			}
			j.size, last = size, next
		}
		jobs = append(jobs, j)
		from = j.to
	}
	v.busy = len(jobs) >= v.workers()
	return v.Each(len(jobs), func(i int) error { return run(&jobs[i]) })
}

// pieces calls f with consecutive pieces of a range of r, of at most step bytes: in dst if that is not nil, or else in
// memory of r, or in a buffer that the next piece overwrites. From a reader the pieces are larger; those of a sealed file
// end where its pieces do, so that each is read once.
func (v *verification) pieces(r *source.Region, off, size, step int64, dst []byte, f func([]byte) error) error {
	if !r.InMemory() {
		step = max(step, v.step())
	}
	if dst == nil && !v.inPlace(r) {
		buf := buffer(min(size, step))
		defer steps.Put(buf)
		dst = (*buf)[:min(size, step)]
	}
	for at, n := off, int64(0); at < off+size; at += n {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		n = min(step, off+size-at)
		if r.Sealed() && size > step && step >= source.PieceSize {
			n = min(n, step-at%source.PieceSize)
		}
		var b []byte
		var err error
		if dst != nil {
			b = dst[min(at-off, int64(len(dst))-n):][:n]
			err = v.fetch(b, at, r)
		} else {
			if (at-off)%memory.PopulateStep == 0 {
				r.Populate(at, min(max(n, memory.PopulateStep), off+size-at))
			}
			b = r.Bytes()[at:][:n]
		}
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
		v.used(r, at, n)
	}
	return v.ctx.Err()
}

// inPlace reports whether bytes of r are used where they are. Those of a sealed file are copied, and compared.
func (v *verification) inPlace(r *source.Region) bool {
	return r.InMemory() && v.files[r] == nil && !r.Sealed()
}

// fetch reads a range of r.
func (v *verification) fetch(dst []byte, off int64, r *source.Region) (err error) {
	if f := v.files[r]; f != nil {
		_, err = f.ReadAt(dst, off)
	} else {
		_, err = r.ReadAtContext(v.ctx, dst, off)
	}
	return err
}

// readStep is the number of bytes read from a reader at a time. It is large since the reader may be
// remote, or fetch parts concurrently.
const readStep = 8 << 20

// step returns readStep, or less if the memory limit requires it: a multiple of work.Step.
func (v *verification) step() int64 { return stepOf(v.m.c.options.Memory, v.workers()) }

func stepOf(memory *driver.Memory, workers int) int64 {
	left := memory.Left() / int64(2*workers)
	return min(readStep, max(work.Step, left-left%work.Step))
}

var steps = sync.Pool{New: func() any { b := make([]byte, work.Step); return &b }}

// buffer returns at least n bytes from the pool steps.
func buffer(n int64) *[]byte {
	buf := steps.Get().(*[]byte)
	if n > int64(len(*buf)) {
		*buf = make([]byte, n)
	}
	return buf
}
