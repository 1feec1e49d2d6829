package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// serveVerdicts measures holding the current model of a live.Handle, and requests during a reload.
func serveVerdicts() []verdict {
	return []verdict{
		{name: "acquire", limit: 3, figure: acquired},
		{name: "acquire/2goroutines", limit: 1.7, least: true, figure: acquiredTwice},
		{name: "acquire/allocations", limit: 0, counts: true, figure: acquiredFree},
		{name: "reload/100MB/p99", limit: 1.5, figure: reloaded},
	}
}

// often is the number of runs timed together of an operation that takes nanoseconds.
const often = 10_000

// acquiring returns a function that acquires and releases a model.
func acquiring(b *testing.B) func() error {
	h, err := live.Open(File(b, "mag", Models[0]).Path, nil)
	if err != nil {
		b.Fatal(err)
	}
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
	r := floor.PairsOf(b, floor.Rounds, floor.Timed(acquiring(b)), floor.Timed(func() error {
		for range often {
			n.Add(1)
			n.Add(-1)
		}
		return nil
	}))
	b.ReportMetric(float64(r.Op.Nanoseconds())/often, "ns/acquire")
	return r.Ratio
}

// acquiredTwice measures the throughput of two goroutines that acquire and release, relative to one.
func acquiredTwice(b *testing.B) float64 {
	many := acquiring(b)
	return floor.PairsOf(b, floor.Rounds, floor.Timed(many), together(many, many)).Ratio
}

func acquiredFree(b *testing.B) float64 {
	many := acquiring(b)
	for b.Loop() {
		if err := many(); err != nil {
			b.Fatal(err)
		}
	}
	return counted(b, many) / often
}

// reloaded measures the 99th percentile of request times while a model of 100 MB is replaced
// repeatedly, relative to that without reloads.
func reloaded(b *testing.B) float64 {
	h, swap := swapping(b)
	quiet := floor.Round(func(n int) (time.Duration, error) { return percentile(h, n) })
	return floor.PairsOf(b, floor.Rounds, func(n int) (took time.Duration, err error) {
		stop := make(chan struct{})
		swapped := make(chan error)
		go func() { swapped <- repeat(swap, stop) }()
		took, err = percentile(h, n)
		close(stop)
		return took, errors.Join(err, <-swapped)
	}, quiet).Ratio
}

// swapping returns a handle, and a function that replaces its model and reloads it.
func swapping(b *testing.B) (*live.Handle, func() error) {
	dir := b.TempDir()
	m := Models[1]
	path, next := filepath.Join(dir, "current"), filepath.Join(dir, "next")
	File(b, "mag", m) // skips where mag cannot be written
	var paths [2]string
	for i := range paths {
		paths[i] = filepath.Join(dir, "model"+string(rune('0'+i)))
		if _, err := Write("mag", paths[i], m, nil); err != nil {
			b.Fatal(err)
		}
	}
	turn := 0
	link := func() error {
		turn++
		return errors.Join(os.Symlink(paths[turn%2], next), os.Rename(next, path))
	}
	if err := link(); err != nil {
		b.Skip(err)
	}
	h, err := live.Open(path, &live.Options{Verify: true, Warm: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { h.Close() })
	return h, func() error {
		if err := link(); err != nil {
			return err
		}
		_, err := h.Reload(context.Background())
		return err
	}
}

// repeat calls f until stop is closed.
func repeat(f func() error, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
			if err := f(); err != nil {
				return err
			}
		}
	}
}

// percentile returns n times the 99th percentile of request times, as the time of a round of n.
func percentile(h *live.Handle, n int) (time.Duration, error) {
	const requests = 500
	took := make([]time.Duration, requests)
	for i := range took {
		start := time.Now()
		if err := request(h, i); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[requests*99/100] * time.Duration(n), nil
}

// request reads the layers of the current model one by one: some megabytes.
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
			compute(w)
		}
		return nil
	})
}

var computed atomic.Uint64

// compute computes the dot product of w with itself.
func compute(w []float32) {
	sum := float32(0)
	for _, x := range w {
		sum += x * x
	}
	computed.Add(uint64(sum))
}
