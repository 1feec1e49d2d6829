package format

import (
	"sync"

	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/work"
)

// extent returns the data of tensor i.
func (m *Model) extent(i int) pass.Extent {
	space, off, size := m.index.Place(i)
	return pass.Extent{File: uint32(space), Offset: off, Size: size, IsAlone: m.index.Loaded(i)}
}

// eachJob calls run with the jobs of pass.Jobs on the workers.
func (v *verification) eachJob(n int, at func(k int) pass.Extent, run func(j *pass.Job) error) error {
	jobs := pass.Jobs(n, v.limit, at)
	v.busy = len(jobs) >= v.workers()
	return v.Each(len(jobs), func(i int) error { return run(&jobs[i]) })
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
