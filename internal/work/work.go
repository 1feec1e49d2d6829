// Package work distributes work over the CPUs, with cancellation and serialized progress reports.
package work

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Progress adds up the bytes processed by several goroutines and reports them. The zero value
// reports nothing.
type Progress struct {
	Report func(done, total int64, name string) // may be nil

	mu    sync.Mutex
	sum   int64
	total int64
}

// Expect adds n bytes to the total.
func (p *Progress) Expect(n int64) {
	p.mu.Lock()
	p.total += n
	p.mu.Unlock()
}

// Done reports n more bytes of the part called name. Reports do not overlap.
func (p *Progress) Done(n int64, name string) {
	if p.Report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum += n
	p.Report(p.sum, p.total, name)
}

// Each calls f for 0 <= i < n on up to workers goroutines (0: one per CPU). It returns the error
// with the lowest index, so the outcome does not depend on timing; after an error no higher index
// is started. If f, which may call user code, panics or calls runtime.Goexit on any goroutine, so
// does Each. That holds for memory faults too, so a guard around Each covers f: see package fault.
func Each(ctx context.Context, n, workers int, f func(i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	r := &run{ctx: ctx, f: f, failed: n}
	if workers = min(workers, n); workers <= 1 {
		r.work()
	} else {
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				debug.SetPanicOnFault(true)
				r.work()
			})
		}
		group.Wait()
	}
	if r.err != nil {
		return Rethrow(r.err)
	}
	return ctx.Err()
}

// run is a call of Each.
type run struct {
	ctx  context.Context
	f    func(i int) error
	next atomic.Int64

	mu     sync.Mutex
	failed int // lowest index that failed, or n
	err    error
}

// work processes indices until none is left.
func (r *run) work() {
	for r.ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		r.mu.Lock()
		end := r.failed
		r.mu.Unlock()
		if i >= end {
			break
		}
		Catch(func() error { return r.f(i) }, func(err error) { r.done(i, err) })
	}
}

// done records the result of an index.
func (r *run) done(i int, err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < r.failed {
		r.failed = i
		r.err = err
	}
}

// thrown is the error of a function that did not return. It has the value of the panic, nil for
// runtime.Goexit.
type thrown struct{ value any }

func (thrown) Error() string { return "panic" }

// Catch calls f, then done with its error. If f panics or calls runtime.Goexit, that error makes
// Rethrow do the same on another goroutine.
func Catch(f func() error, done func(error)) {
	var err error
	returned := false
	defer func() {
		if !returned {
			err = thrown{recover()}
		}
		done(err)
	}()
	err = f()
	returned = true
}

// Rethrow repeats the panic or Goexit that Catch caught, or returns the error.
func Rethrow(err error) error {
	if t, ok := err.(thrown); ok && t.value != nil {
		panic(t.value)
	} else if ok {
		runtime.Goexit()
	}
	return err
}

// Step is the size of the pieces to process: large enough that calls cost nothing compared
// with hashing, small enough for prompt cancellation.
const Step = 1 << 20
