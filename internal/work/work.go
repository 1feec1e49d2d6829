// Package work distributes work over the CPUs, with cancellation and serialized progress reports.
package work

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Progress adds up the bytes processed by several goroutines and reports them. The zero value and
// nil report nothing.
type Progress struct {
	mu     sync.Mutex
	report func(done, total int64, name string)
	done   int64
	total  int64
}

// NewProgress returns a Progress that calls f, which may be nil.
func NewProgress(f func(done, total int64, name string), total int64) *Progress {
	return &Progress{report: f, total: total}
}

// Expect adds n bytes to the total.
func (p *Progress) Expect(n int64) {
	if p == nil || p.report == nil {
		return
	}
	p.mu.Lock()
	p.total += n
	p.mu.Unlock()
}

// Add reports n more bytes of the part called name. Reports do not overlap.
func (p *Progress) Add(n int64, name string) {
	if p == nil || p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.report(p.done, p.total, name)
}

// Each calls f for 0 <= i < n on up to workers goroutines (0: one per CPU). It returns the error
// with the lowest index, so the outcome does not depend on timing; after an error no higher index
// is started. If f, which may call user code, panics or calls runtime.Goexit on any goroutine, so
// does Each.
func Each(ctx context.Context, n, workers int, f func(i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(i); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	return each(ctx, n, workers, f)
}

// run is a call of Each with several goroutines.
type run struct {
	ctx   context.Context
	f     func(i int) error
	next  atomic.Int64
	ended atomic.Pointer[any] // the panic value, or nil for runtime.Goexit
	group sync.WaitGroup

	mu     sync.Mutex
	failed int // lowest index that failed
	err    error
}

func each(ctx context.Context, n, workers int, f func(i int) error) error {
	r := &run{ctx: ctx, f: f, failed: n}
	r.group.Add(workers)
	for range workers {
		go r.work()
	}
	r.group.Wait()
	if thrown := r.ended.Load(); thrown != nil {
		if *thrown != nil {
			panic(*thrown)
		}
		runtime.Goexit()
	}
	if r.err != nil {
		return r.err
	}
	return ctx.Err()
}

// work processes indices until none is left.
func (r *run) work() {
	finished := false
	defer func() {
		if !finished {
			thrown := recover()
			r.ended.Store(&thrown)
			r.next.Store(math.MaxInt / 2) // past the last index
		}
		r.group.Done()
	}()
	for r.ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= r.worst() {
			break
		}
		if err := r.f(i); err != nil {
			r.fail(i, err)
		}
	}
	finished = true
}

// worst returns the lowest index that failed, or n.
func (r *run) worst() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *run) fail(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < r.failed {
		r.failed, r.err = i, err
	}
}

// Step is the size of the pieces that Chunks passes: large enough that calls cost nothing compared
// with hashing, small enough for prompt cancellation.
const Step = 1 << 20

// Chunks calls f with consecutive pieces of b and reports them as progress.
func Chunks(ctx context.Context, b []byte, p *Progress, name string, f func([]byte)) error {
	for len(b) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(b), Step)
		f(b[:n])
		p.Add(int64(n), name)
		b = b[n:]
	}
	return nil
}
