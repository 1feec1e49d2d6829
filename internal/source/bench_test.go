package source

import (
	"testing"
)

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
