package convert

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
)

// evictEvery is how many bytes of the source's mapping are in memory at a time.
const evictEvery = 8 << 20

// evictor returns a function that is told how many bytes of a model were read, and takes
// what was read from the process's memory now and then.
func evictor(m *format.Model) func(n int) {
	var used atomic.Int64
	return func(n int) {
		if used.Add(int64(n)) >= evictEvery {
			used.Store(0)
			_ = m.Evict() // a hint; a model that is closed says so elsewhere
		}
	}
}

// passage is a tensor on its way from the mapping into the target.
type passage struct {
	j    *job
	left []byte
	sum  *xxhash.Digest
}

// pass notes that n more bytes were written. They are summed now, while they are still in
// the processor's cache.
func (p *passage) pass(n int) {
	n = min(n, len(p.left))
	if p.j.o.Verify {
		p.sum.Write(p.left[:n])
	}
	p.left = p.left[n:]
	p.j.evict(n)
}

// progress is told by the writer how far it is, and tells the caller.
func (j *job) progress(done, total int64, tensor string) {
	if j.passage != nil {
		j.passage.pass(int(done - j.taken))
	}
	j.taken = done
	if j.o.Progress != nil {
		j.o.Progress(done, total, tensor)
	}
}
