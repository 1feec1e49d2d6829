package source

import (
	"io"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/stripes"
	"golang.org/x/exp/mmap"
)

// BenchmarkOpenClose maps a file and unmaps it, and so does x/exp/mmap alone, in terms
// of the bare system calls.
func BenchmarkOpenClose(b *testing.B) {
	path := temp(b, ramp(2<<20))
	for _, c := range []struct {
		name string
		open func() (io.Closer, error)
	}{
		{"region", func() (io.Closer, error) { return Open(path, Options{}) }},
		{"x-exp", func() (io.Closer, error) { return mmap.Open(path) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			floor.Pairs(b, floor.Rounds, func() error {
				f, err := c.open()
				if err != nil {
					return err
				}
				return f.Close()
			}, func() error { return floor.Map(path) })
		})
	}
}

// BenchmarkEnterLeave holds a region, in terms of adding to a counter and taking that
// off: as one goroutine does, and once goroutines have met.
func BenchmarkEnterLeave(b *testing.B) {
	for _, met := range []bool{false, true} {
		b.Run(map[bool]string{false: "alone", true: "striped"}[met], func(b *testing.B) {
			r := mustOpen(b, temp(b, ramp(10000)), Options{})
			if met {
				r.stripes.Store(new(stripes.Counter))
			}
			var n atomic.Int64
			floor.Pairs(b, floor.Rounds, func() error {
				for range 1000 {
					if err := r.Enter(); err != nil {
						return err
					}
					r.Leave()
				}
				return nil
			}, func() error {
				for range 1000 {
					n.Add(1)
					n.Add(-1)
				}
				return nil
			})
		})
	}
}

func BenchmarkEnterLeaveParallel(b *testing.B) {
	r := mustOpen(b, temp(b, ramp(10000)), Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r.Enter() == nil {
				r.Leave()
			}
		}
	})
}

func BenchmarkLend(b *testing.B) {
	r := mustOpen(b, temp(b, ramp(10000)), Options{})
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Expose(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	r := mustOpen(b, temp(b, ramp(10000)), Options{})
	fn := func() error { return nil }
	for b.Loop() {
		if err := r.Guard(fn); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadAt64(b *testing.B) {
	r := mustOpen(b, temp(b, ramp(10000)), Options{})
	p := make([]byte, 64)
	for b.Loop() {
		if _, err := r.ReadAt(p, 128); err != nil {
			b.Fatal(err)
		}
	}
}
