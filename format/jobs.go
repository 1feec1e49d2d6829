package format

import (
	"cmp"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
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

// readStep is the number of bytes read from a reader at a time. It is large since the reader may be
// remote, or fetch parts concurrently.
const readStep = 8 << 20

// fetchSize returns readStep, or less if the memory limit requires it: a multiple of work.Step.
func fetchSize(memory *driver.Memory, workers int) int64 {
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
