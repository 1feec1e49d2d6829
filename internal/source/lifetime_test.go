package source

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/stripes"
	"github.com/weightmap/weightmap/tensor"
)

// uses are the ways to begin something that Close forbids.
var uses = []struct {
	name string
	f    func(*Region) error
}{
	{"Enter", (*Region).Enter},
	{"Expose", (*Region).Expose},
	{"Pin", func(r *Region) error { _, err := r.Pin(); return err }},
	{"ReadAt", func(r *Region) error { _, err := r.ReadAt(make([]byte, 1), 0); return err }},
	{"Slice", func(r *Region) error { _, err := r.Slice(0, 1); return err }},
	{"Advise", func(r *Region) error { _, err := r.Advise(memory.Evict, 0, 1); return err }},
}

func TestAfterClose(t *testing.T) {
	every(t, ramp(10000), func(t *testing.T, r *Region) {
		r.SetOrigin("mag", "m.mag")
		if r.Closed() {
			t.Error("closed before Close")
		}
		for range 2 {
			expect.OK(t, r.Close())
		}
		for _, u := range uses {
			err := u.f(r)
			var e *tensor.Error
			if !errors.Is(err, tensor.ErrClosed) || !errors.As(err, &e) || e.Offset != -1 {
				t.Errorf("%s after Close: %v", u.name, err)
			}
		}
		if !r.Closed() || r.Bytes() != nil {
			t.Errorf("closed %v, %d bytes", r.Closed(), len(r.Bytes()))
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close after refused uses: %v", err)
		}
	})
}

// blocked reports whether done stays open although others ran a while.
func blocked(done <-chan struct{}) bool {
	for range 200 {
		select {
		case <-done:
			return false
		default:
			runtime.Gosched()
		}
	}
	return true
}

// closing starts n calls of Close and returns when they have begun.
func closing(t *testing.T, r *Region, n int) <-chan struct{} {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	for !r.Closed() {
		runtime.Gosched()
	}
	return done
}

func TestCloseWaitsForLeave(t *testing.T) {
	data := ramp(10000)
	every(t, data, func(t *testing.T, r *Region) {
		for range 2 {
			expect.OK(t, r.Enter())
		}
		done := closing(t, r, 3)
		expect.Refused(t, tensor.ErrClosed, "Enter during Close")(nil, r.Enter())
		if r.InMemory() {
			if b, err := r.Slice(0, 5); err != nil || b[4] != data[4] || r.Bytes() == nil {
				t.Errorf("reading while inside: %v, %v", b, err)
			}
		}
		r.Leave()
		if !blocked(done) {
			t.Fatal("Close did not wait for the second Leave")
		}
		r.Leave()
		<-done
		if r.Bytes() != nil {
			t.Error("the memory is still there")
		}
	})
}

func TestPinOutlivesClose(t *testing.T) {
	every(t, ramp(10000), func(t *testing.T, r *Region) {
		un1, err1 := r.Pin()
		un2, err2 := r.Pin()
		expect.OK(t, errors.Join(err1, err2))
		b := r.Bytes()
		expect.OK(t, r.Close())
		un1()
		un1()
		for _, u := range uses {
			if err := u.f(r); !errors.Is(err, tensor.ErrClosed) && u.name != "Slice" {
				t.Errorf("%s after Close: %v", u.name, err)
			}
		}
		if b != nil && b[9999] != ramp(10000)[9999] {
			t.Error("wrong byte")
		}
		if r.state.Load()&gone != 0 {
			t.Error("the memory went with a pin left")
		}
		un2()
		un2()
		if r.state.Load()&gone == 0 {
			t.Error("the memory stayed after the last unpin")
		}
	})
}

func TestLeaveWithoutEnter(t *testing.T) {
	striped := FromBytes(nil)
	striped.stripes.Store(new(stripes.Counter))
	striped.Leave() // nobody can tell yet
	for name, f := range map[string]func(){"alone": FromBytes(nil).Leave, "striped": func() { _ = striped.Close() }} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// elsewhere runs f on a new goroutine, and so with another stack.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// TestGoroutinesMeet: those that came before are counted in the state word, those that
// come later in stripes, and each may leave where it likes.
func TestGoroutinesMeet(t *testing.T) {
	every(t, ramp(10000), func(t *testing.T, r *Region) {
		if err := r.Enter(); err != nil || r.stripes.Load() != nil {
			t.Fatal("striped before goroutines met", err)
		}
		if err := r.enterAgain(); err != nil || r.stripes.Load() == nil {
			t.Fatal("not striped after goroutines met", err)
		}
		elsewhere(func() {
			if err := r.Enter(); err != nil {
				t.Error(err)
			}
		})
		for n := range int64(3) {
			if got := r.countInside(); got != 3-n {
				t.Fatalf("%d inside, want %d", got, 3-n)
			}
			done := closing(t, r, 1)
			if !blocked(done) {
				t.Fatalf("Close did not wait for %d", 3-n)
			}
			elsewhere(func() {
				expect.Refused(t, tensor.ErrClosed, "Enter during Close")(nil, r.Enter())
				r.Leave()
			})
			if n == 2 {
				<-done
			}
		}
		if n := r.countInside(); n != 0 || r.state.Load()&gone == 0 {
			t.Errorf("%d inside in the end, gone %v", n, r.state.Load()&gone != 0)
		}
	})
}

// Many goroutines come and go while one closes. Whoever got in reads the
// mapping, so memory that went too early ends the test with a fault.
func TestCloseUnderLoad(t *testing.T) {
	data := ramp(1 << 16)
	path := temp(t, data)
	for i := range 200 {
		r, err := open(path, Options{Debug: true})
		expect.OK(t, err)
		if i%2 == 1 { // and else when two meet
			r.stripes.Store(new(stripes.Counter))
		}
		closed := new(atomic.Bool)
		started := make(chan struct{}, 8)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				hammer(t, r, g, data, closed, started)
			})
		}
		for range 8 {
			<-started
		}
		for range 2 {
			wg.Go(func() {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				closed.Store(true)
			})
		}
		wg.Wait()
		if s := r.state.Load(); r.countInside() != 0 || !isUnpinned(s) || s&gone == 0 {
			t.Fatalf("state %#x, %d inside in the end", s, r.countInside())
		}
	}
}

// hammer uses r until that is refused.
func hammer(t *testing.T, r *Region, g int, data []byte, closed *atomic.Bool, started chan<- struct{}) {
	b := r.Bytes()
	for i := 0; ; i++ {
		if i == 10 {
			started <- struct{}{}
		}
		if i%50 == 0 {
			runtime.Gosched() // let who closes have a processor
		}
		was := closed.Load()
		if (g+i)%5 == 0 {
			unpin, err := r.Pin()
			if err == nil {
				_ = b[(i*4096)%len(b)]
				unpin()
			}
		}
		if g%4 == 0 && r.Expose() != nil {
			return
		}
		if err := r.Enter(); err != nil {
			if !errors.Is(err, tensor.ErrClosed) {
				t.Error(err)
			}
			return
		}
		if was {
			t.Error("entered after Close returned")
		}
		if b[(i*4096+g)%len(b)] != data[(i*4096+g)%len(b)] {
			t.Error("wrong byte")
		}
		r.Leave()
	}
}
