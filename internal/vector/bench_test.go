package vector

import (
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
)

// BenchmarkScalar compares the plain loops with the routines.
func BenchmarkScalar(b *testing.B) {
	const n = 64 << 10
	dst, src := make([]float32, n), random(2*n)
	for _, c := range []conversion{conversions()[0], conversions()[1], linearConversion("int8", Int8, 0.03, -5)} {
		b.Run(c.name, func(b *testing.B) {
			floor.Pairs(b,
				func() error { c.plain(dst, src); return nil },
				func() error { c.convert(dst, src, false); return nil })
		})
	}
	for _, c := range blockCodes() {
		b.Run("blocks, "+c.name, func(b *testing.B) {
			scales, mins := halfScales(0x2c00, Batch), halfScales(0x2c00, Batch)
			floor.Pairs(b,
				func() error { c.plain(dst, src, scales, mins); return nil },
				func() error { c.decode(dst, src, scales, mins); return nil })
		})
	}
	for _, g := range groupLayouts() {
		b.Run("groups, "+g.String(), func(b *testing.B) {
			g.Size, g.Unpack = groupBytes, unpackGroups
			src, scales := random(n/groupElems*groupBytes), make([]Scales, n/groupElems)
			floor.Pairs(b,
				func() error { g.plain(dst, src, scales); return nil },
				func() error { g.Decode(dst, src); return nil })
		})
	}
	b.Run("adler32", func(b *testing.B) {
		floor.Pairs(b,
			func() error { slowAdler(1, src[:block]); return nil },
			func() error { Adler32(1, src[:block]); return nil })
	})
}

// BenchmarkStream compares an output that goes through the caches with one that bypasses them.
func BenchmarkStream(b *testing.B) {
	const n = 24 << 20
	dst, src := make([]float32, n), random(2*n)
	for _, c := range []conversion{conversions()[0], linearConversion("int8", Int8, 0.03, -5), rowConversion("rows", Int8, make([]float32, 4096), make([]int32, 4096))} {
		b.Run(c.name, func(b *testing.B) {
			floor.Pairs(b,
				func() error { c.convert(dst, src, false); return nil },
				func() error { c.convert(dst, src, true); return nil })
		})
	}
}
