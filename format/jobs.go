package format

import (
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/work"
)

// extent returns the data of tensor i.
func (m *Model) extent(i int) pass.Extent {
	space, off, size := m.index.Place(i)
	return pass.Extent{File: uint32(space), Offset: off, Size: size, IsAlone: m.index.Loaded(i)}
}

// maxJob is the maximum size of a job of several neighbors. From a reader, Verify reads more at a time.
const maxJob = 2 << 20

// eachJob calls run with the jobs of pass.Jobs on the workers.
func (v *verification) eachJob(n int, at func(k int) pass.Extent, run func(j *pass.Job) error) error {
	jobs := pass.Jobs(n, v.limit, at)
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
