package convert

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// tally counts what became of numbers in a narrower type.
type tally struct {
	lost            int64 // finite before, infinite now
	nonzero, zeroed int64 // that were not 0, and those of them that are now
}

// narrowing has the types that numbers may not fit: magnitudes from infinite on become infinite,
// and those up to zero 0, by rounding to the nearest and ties to even.
var narrowing = map[tensor.DType]struct{ infinite, zero float64 }{
	tensor.Float16:  {65520, 0x1p-25},
	tensor.BFloat16: {0x1.ffp127, 0x1p-134},
	tensor.Float32:  {0x1.ffffffp127, 0x1p-150},
}

// count adds numbers that become elements of d.
func count[F float32 | float64](t *tally, d tensor.DType, numbers []F) {
	limit, ok := narrowing[d]
	if !ok {
		return
	}
	lost, zeros, zeroed := 0, 0, 0
	first := math.Float64bits(limit.zero) + 1
	fitting := math.Float64bits(limit.infinite) - first
	for _, x := range numbers {
		bits := math.Float64bits(float64(x)) &^ (1 << 63)
		switch {
		case bits-first < fitting: // most, by one comparison
		case bits == 0:
			zeros++
		case bits < first:
			zeroed++
		case bits < math.Float64bits(math.Inf(1)):
			lost++
		}
	}
	t.lost += int64(lost)
	t.nonzero += int64(len(numbers) - zeros)
	t.zeroed += int64(zeroed)
}

// overflow is the loss of numbers that are too large for the new dtype of a tensor.
func overflow(it *item, n int64) format.Loss {
	return format.Loss{Kind: format.LossConversion, Name: it.to.Name, Acceptable: true,
		Why: fmt.Sprintf("%d numbers that are too large for %v become infinite", n, it.to.DType)}
}

// mayOverflow reports whether such a loss is accepted, and whether it is to be reported.
func (j *job) mayOverflow(it *item) (accepted, reported bool) { return j.accepts(overflow(it, 0)) }
