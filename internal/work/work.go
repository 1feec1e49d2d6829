// Package work spreads checking and converting over the CPUs, with
// cancellation and serialized progress reports.
package work

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Progress adds up bytes done by several goroutines. The zero Progress and nil
// report to nobody.
type Progress struct {
	mu     sync.Mutex
	report func(done, total int64, name string)
	done   int64
	total  int64
}

// NewProgress reports to f, which may be nil.
func NewProgress(f func(done, total int64, name string), total int64) *Progress {
	return &Progress{report: f, total: total}
}

// Expect adds n bytes to what there is to do.
func (p *Progress) Expect(n int64) {
	if p == nil || p.report == nil {
		return
	}
	p.mu.Lock()
	p.total += n
	p.mu.Unlock()
}

// Add counts n more bytes of the named part. Reports do not overlap.
func (p *Progress) Add(n int64, name string) {
	if p == nil || p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.report(p.done, p.total, name)
}

// Each calls f for 0 <= i < n on up to workers goroutines (0: one a CPU). It
// returns the error of the lowest index that failed, so that the outcome
// does not depend on timing; after a failure no higher index is begun. A panic of f, or
// its runtime.Goexit, is the caller's, wherever f ran: what f calls may be a program's.
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

// run is one call of Each on several goroutines.
type run struct {
	ctx   context.Context
	f     func(i int) error
	next  atomic.Int64
	ended atomic.Pointer[any] // what f panicked with, or a nil for runtime.Goexit
	group sync.WaitGroup

	mu     sync.Mutex
	failed int // the lowest index that failed
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

// work takes one index after the other.
func (r *run) work() {
	finished := false
	defer func() {
		if !finished {
			thrown := recover()
			r.ended.Store(&thrown)
			r.next.Store(math.MaxInt / 2) // beyond all indices
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

// worst returns the lowest index that failed, or how many there are.
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

// Step is how many bytes Chunks passes at a time: enough that a callback
// costs nothing compared with hashing, little enough that canceling is prompt.
const Step = 1 << 20

// Chunks calls f with the steps of b, counting them as progress.
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
