package vector

import (
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
)

// pairs is how many pairs of rounds a ratio is the median of, at least.
const pairs = 15

// sizes are numbers of elements: for the first level of caches, for the last one, and
// for none.
var sizes = []struct {
	name string
	n    int
}{{"near", 2 << 10}, {"far", 512 << 10}, {"memory", 24 << 20}}

// BenchmarkConvert compares with copying as many float32 as come out.
func BenchmarkConvert(b *testing.B) {
	linear := linearConversion("int8", Int8, 0.03, -5)
	for _, size := range sizes {
		dst, from := make([]float32, size.n), make([]float32, size.n)
		src := random(2 * size.n)
		for i := range from {
			from[i] = float32(i)
		}
		all := []conversion{conversions()[0], conversions()[1], linear}
		for _, width := range []int{16, 200, 4096, 64 << 10} {
			if width <= size.n {
				all = append(all, wideRows(width))
			}
		}
		for _, c := range all {
			b.Run(size.name+"/"+c.name, func(b *testing.B) {
				b.SetBytes(4 * int64(size.n))
				floor.Pairs(b, pairs,
					func() error { c.convert(dst, src, large(dst)); return nil },
					func() error { copy(dst, from); return nil })
			})
		}
	}
}

// BenchmarkScalar compares the plain loops with the routines.
func BenchmarkScalar(b *testing.B) {
	const n = 64 << 10
	dst, src := make([]float32, n), random(2*n)
	for _, c := range []conversion{conversions()[0], conversions()[1], linearConversion("int8", Int8, 0.03, -5)} {
		b.Run(c.name, func(b *testing.B) {
			floor.Pairs(b, pairs,
				func() error { c.twin(dst, src); return nil },
				func() error { c.convert(dst, src, false); return nil })
		})
	}
	b.Run("adler32", func(b *testing.B) {
		floor.Pairs(b, pairs,
			func() error { slowAdler(1, src[:block]); return nil },
			func() error { Adler32(1, src[:block]); return nil })
	})
}

// BenchmarkStream compares an output that goes through the caches with one that bypasses them.
func BenchmarkStream(b *testing.B) {
	const n = 24 << 20
	dst, src := make([]float32, n), random(2*n)
	for _, c := range []conversion{conversions()[0], linearConversion("int8", Int8, 0.03, -5), wideRows(4096)} {
		b.Run(c.name, func(b *testing.B) {
			floor.Pairs(b, pairs,
				func() error { c.convert(dst, src, false); return nil },
				func() error { c.convert(dst, src, true); return nil })
		})
	}
}

// wideRows are rows of so many columns with a scale and a zero point each.
func wideRows(width int) conversion {
	scales, zeros := make([]float32, width), make([]int32, width)
	for i := range width {
		scales[i], zeros[i] = 1/float32(i+1), int32(i%256)-128
	}
	return rowConversion(fmt.Sprint("rows", width), Int8, scales, zeros)
}

// BenchmarkAdler32 compares with reading as many bytes in plain Go.
func BenchmarkAdler32(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			src := random(4 * size.n)
			b.SetBytes(int64(len(src)))
			floor.Pairs(b, pairs,
				func() error { Adler32(1, src); return nil },
				func() error { floor.Read(src); return nil })
		})
	}
}
