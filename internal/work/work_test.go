package work

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestEach checks that each index is processed once with any number of goroutines.
func TestEach(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 7, 100} {
		for _, n := range []int{0, 1, 2, 50} {
			calls := make([]atomic.Int32, n)
			if err := Each(context.Background(), n, workers, func(i int) error { calls[i].Add(1); return nil }); err != nil {
				t.Errorf("%d on %d: %v", n, workers, err)
			}
			for i := range calls {
				if calls[i].Load() != 1 {
					t.Errorf("%d on %d: index %d was called %d times", n, workers, i, calls[i].Load())
				}
			}
		}
	}
}

// TestEachError checks that the error with the lowest index is returned.
func TestEachError(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		for range 50 {
			err := Each(context.Background(), 40, workers, func(i int) error {
				if i%3 == 2 {
					return fmt.Errorf("index %d", i)
				}
				return nil
			})
			if err == nil || err.Error() != "index 2" {
				t.Fatalf("%d workers: %v, want that of index 2", workers, err)
			}
		}
	}
}

// TestEachBreaks checks that a panic or Goexit in f on any goroutine happens in the caller's, and
// that nothing is started afterwards. Otherwise a panic in user code would end the process, and
// Goexit would look like success.
func TestEachBreaks(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		end  func()
		want any // the panic value in the caller
	}{
		{"panic", func() { panic(broken) }, broken},
		{"exit", runtime.Goexit, nil},
	} {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s on %d", tt.name, workers), func(t *testing.T) {
				var calls atomic.Int32
				var got any
				returned := false
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { got = recover() }()
					_ = Each(context.Background(), 1000, workers, func(int) error {
						calls.Add(1)
						tt.end()
						return nil
					})
					returned = true
				})
				all.Wait()
				if got != tt.want || returned || calls.Load() > int32(workers) {
					t.Errorf("panicked with %v, returned %v, after %d calls; want %v", got, returned, calls.Load(), tt.want)
				}
			})
		}
	}
}

func TestEachCanceled(t *testing.T) {
	for _, workers := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		var calls atomic.Int32
		err := Each(ctx, 1000, workers, func(i int) error {
			calls.Add(1)
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) || calls.Load() > int32(workers) {
			t.Errorf("%d workers: %v after %d calls", workers, err, calls.Load())
		}
		if err := Each(ctx, 0, workers, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("nothing to do, and canceled: %v", err)
		}
		// An error of f takes precedence over the cancellation.
		broken := errors.New("broken")
		ctx, cancel = context.WithCancel(context.Background())
		err = Each(ctx, 10, workers, func(i int) error { cancel(); return broken })
		if err != broken {
			t.Errorf("%d workers: %v, want the error of the work", workers, err)
		}
	}
}
