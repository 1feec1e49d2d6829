package convert

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// tally counts the effects of converting numbers to a narrower type.
type tally struct {
	lost            int64 // finite before, infinite after
	nonzero, zeroed int64 // nonzero before, and of those the ones that became 0
	rows            vector.ZeroRows
}

// narrowing has the limits of narrower types: magnitudes from infinite on become infinite, and
// those up to zero become 0, rounding to nearest even.
var narrowing = map[tensor.DType]struct{ infinite, zero float64 }{
	tensor.Float16:  {65520, 0x1p-25},
	tensor.BFloat16: {0x1.ffp127, 0x1p-134},
	tensor.Float32:  {0x1.ffffffp127, 0x1p-150},
}

// count adds the numbers to be converted to d.
func count[F float32 | float64](t *tally, d tensor.DType, numbers []F) {
	limit, ok := narrowing[d]
	if !ok {
		return
	}
	t.nonzero += int64(len(numbers))
	first := math.Float64bits(limit.zero) + 1
	fitting := math.Float64bits(limit.infinite) - first
	for _, x := range numbers {
		bits := math.Float64bits(float64(x)) &^ (1 << 63)
		switch {
		case bits-first < fitting: // most numbers: one comparison
		case bits == 0:
			t.nonzero--
		case bits < first:
			t.zeroed++
		case bits < math.Float64bits(math.Inf(1)):
			t.lost++
		}
	}
	magnitude := func(i int) float64 { return math.Abs(float64(numbers[i])) }
	t.rows.Add(len(numbers), func(i int) bool { return numbers[i] != 0 },
		func(i int) bool { return !(magnitude(i) <= limit.zero) })
}

// overflow returns the loss of n numbers too large for a tensor's new dtype.
func overflow(it *item, n int64) schema.Loss {
	return schema.Loss{Kind: schema.LossConversion, Name: it.to.Name, Acceptable: true,
		Why: fmt.Sprintf("%d numbers are too large for %v and become infinite", n, it.to.DType)}
}
