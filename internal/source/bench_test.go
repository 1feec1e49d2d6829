package source

import (
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
)

func BenchmarkOpenClose(b *testing.B) {
	path := temp(b, ramp(2<<20))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnterLeave holds a region, in terms of adding to a counter and taking that
// off: as one goroutine does, and once goroutines have met.
func BenchmarkEnterLeave(b *testing.B) {
	for _, met := range []bool{false, true} {
		b.Run(map[bool]string{false: "alone", true: "striped"}[met], func(b *testing.B) {
			r := mustOpen(b, temp(b, ramp(10000)), Options{})
			if met {
				r.stripes.Store(new(stripes))
			}
			var n atomic.Int64
			floor.Pairs(b, 15, func() error {
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
		if err := r.Lend(); err != nil {
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
