package source

import (
	"testing"
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

func BenchmarkEnterLeave(b *testing.B) {
	r := mustOpen(b, temp(b, ramp(10000)), Options{})
	b.ReportAllocs()
	for b.Loop() {
		if r.Enter() == nil {
			r.Leave()
		}
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
