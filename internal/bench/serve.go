package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// serve measures holding the current model of a live.Handle, and requests during a reload.
func (t *table) serve() {
	t.most("acquire", 3, acquired)
	t.least("acquire/2goroutines", 1.7, func(b *testing.B) float64 { return twice(b, acquiring(b)) })
	t.count("acquire/allocations", 0, "allocs", func(b *testing.B) float64 { return counted(b, acquiring(b)) / often })
	t.most("reload/100MB/p99", 1.5, reloaded)
}

// acquiring returns a function that acquires and releases a model.
func acquiring(b *testing.B) func() error {
	h, err := live.Open(File(b, "mag", small).Path, nil)
	must(b, err)
	b.Cleanup(func() { h.Close() })
	return func() error {
		for range often {
			l, err := h.Acquire()
			if err != nil {
				return err
			}
			l.Release()
		}
		return nil
	}
}

// acquired measures Acquire and Release, relative to two additions to an uncontended counter.
func acquired(b *testing.B) float64 {
	var n atomic.Int64
	return floor.Pairs(b, acquiring(b), func() error {
		for range often {
			n.Add(1)
			n.Add(-1)
		}
		return nil
	})
}

// reloaded measures the 99th percentile of request times while a model of 100 MB is replaced
// repeatedly, relative to that without reloads.
func reloaded(b *testing.B) float64 {
	path := filepath.Join(b.TempDir(), "model")
	_, err := Write("mag", path, large, noSync)
	must(b, err)
	h, err := live.Open(path, &live.Options{Verify: true, Warm: true})
	must(b, err)
	b.Cleanup(func() { h.Close() })
	quiet := func(n int) (time.Duration, error) { return requestTime(h, n) }
	return floor.PairsOf(b, func(n int) (time.Duration, error) {
		done := make(chan error)
		stop := make(chan struct{})
		go func() { done <- reloading(h, path, stop) }()
		took, err := requestTime(h, n)
		close(stop)
		return took, errors.Join(err, <-done)
	}, quiet).Ratio
}

// reloading reloads the model until stop is closed, each time as a file with another time.
func reloading(h *live.Handle, path string, stop <-chan struct{}) (err error) {
	for now := time.Now(); err == nil; now = now.Add(time.Second) {
		select {
		case <-stop:
			return nil
		default:
			if err = os.Chtimes(path, now, now); err == nil {
				_, err = h.Reload(context.Background())
			}
		}
	}
	return err
}

// requestTime returns n times the 99th percentile of request times, as the time of a round of n.
func requestTime(h *live.Handle, n int) (time.Duration, error) {
	took := make([]time.Duration, 500)
	for i := range took {
		start := time.Now()
		if err := request(h, i); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	return p99(took) * time.Duration(n), nil
}

var computed atomic.Uint64

// request reads the layers of the current model one by one, some megabytes, and computes a dot product
// of each with itself.
func request(h *live.Handle, i int) error {
	l, err := h.Acquire()
	if err != nil {
		return err
	}
	defer l.Release()
	m := l.Model()
	return m.Do(func() error {
		for k := range 12 { // tensors per block
			w, err := tensor.As[float32](m.At((i%25)*12 + k))
			if err != nil {
				return err
			}
			sum := float32(0)
			for _, x := range w {
				sum += x * x
			}
			computed.Add(uint64(sum))
		}
		return nil
	})
}
