// Package floor measures operations in terms of their floors: what the machine takes
// for the least work that would do, such as mapping a file, reading its bytes, or
// copying them.
package floor

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// atLeast is how long a round takes: long enough for the clock and for what a
// scheduler does at times, short enough that both rounds of a pair meet the
// same machine.
const atLeast = time.Millisecond

// Rounds is how many pairs of rounds a ratio is to be the median of, at least.
const Rounds = 15

// Round runs an operation n times and says how long that took, without what has
// to be done before or after.
type Round func(n int) (time.Duration, error)

// Timed is the round of an operation that needs nothing in between.
func Timed(op func() error) Round {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := op(); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

// Then is the round of an operation that is followed by another one, which is
// not timed.
func Then(op, after func() error) Round {
	return func(n int) (took time.Duration, err error) {
		for range n {
			start := time.Now()
			if err := op(); err != nil {
				return 0, err
			}
			took += time.Since(start)
			if err := after(); err != nil {
				return 0, err
			}
		}
		return took, nil
	}
}

// Result is what pairs of rounds showed.
type Result struct {
	Ratio      float64       // the median of the ratios of all pairs
	Difference time.Duration // the median of what an operation took longer than its floor
	Op, Floor  time.Duration // the medians of what one of each took
	Allocs     float64       // of one operation, in all goroutines
	Bytes      float64       // that they allocated
	Pairs      int
}

// Pairs runs op and its floor by turns, one after the other in at least so many
// pairs of rounds and for as long as -benchtime says. It reports as "x-floor"
// and returns the median of the ratios of the pairs: one stall of the machine
// spoils a pair, not the figure. The benchmark's own figures are those of op.
func Pairs(b *testing.B, rounds int, op, floor func() error) float64 {
	b.Helper()
	return PairsOf(b, rounds, Timed(op), Timed(floor)).Ratio
}

// PairsOf is Pairs for rounds of any kind.
func PairsOf(b *testing.B, rounds int, op, floor Round) Result {
	b.Helper()
	p, err := prepare(op, floor)
	for err == nil && b.Loop() {
		err = p.pair()
	}
	for err == nil && len(p.ratios) < rounds {
		err = p.pair()
	}
	if err != nil {
		b.Fatal(err)
	}
	r := p.result()
	b.ReportMetric(float64(r.Op.Nanoseconds()), "ns/op")
	b.ReportAllocs()
	b.ReportMetric(r.Allocs, "allocs/op")
	b.ReportMetric(r.Bytes, "B/op")
	b.ReportMetric(r.Ratio, "x-floor")
	return r
}

// Compare is Pairs without a benchmark: it goes on for half a second.
func Compare(rounds int, op, floor Round) (Result, error) {
	p, err := prepare(op, floor)
	for err == nil && (len(p.ratios) < rounds || p.took < time.Second/2) {
		err = p.pair()
	}
	if err != nil {
		return Result{}, err
	}
	return p.result(), nil
}

// pairs are two rounds that are run by turns.
type pairs struct {
	sides         [2]side // the operation, its floor
	ratios        []float64
	took          time.Duration // all pairs
	allocs, bytes float64
}

type side struct {
	run   Round
	n     int             // operations in a round
	times []time.Duration // of one operation, in each round
}

// prepare runs both once, so that nobody pays for coming first, and finds how
// many operations make a round.
func prepare(op, floor Round) (*pairs, error) {
	p := &pairs{sides: [2]side{{run: op}, {run: floor}}}
	for i := range p.sides {
		if _, err := p.sides[i].run(1); err != nil {
			return nil, err
		}
		if err := p.sides[i].calibrate(); err != nil {
			return nil, err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := op(p.sides[0].n); err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	n := uint64(p.sides[0].n)
	p.allocs, p.bytes = float64((after.Mallocs-before.Mallocs)/n), float64((after.TotalAlloc-before.TotalAlloc)/n)
	return p, nil
}

// calibrate doubles the operations of a round until it is long enough.
func (s *side) calibrate() error {
	for s.n = 1; s.n < 1<<24; s.n *= 2 {
		took, err := s.run(s.n)
		if err != nil || took >= atLeast {
			return err
		}
	}
	return nil
}

// pair runs both, in the other order each time.
func (p *pairs) pair() error {
	first := len(p.ratios) % 2
	var per [2]float64
	for _, i := range [2]int{first, 1 - first} {
		s := &p.sides[i]
		took, err := s.run(s.n)
		if err != nil {
			return err
		}
		p.took += took
		s.times = append(s.times, took/time.Duration(s.n))
		per[i] = float64(took) / float64(s.n)
	}
	p.ratios = append(p.ratios, per[0]/per[1])
	return nil
}

func (p *pairs) result() Result {
	longer := make([]time.Duration, len(p.ratios))
	for i := range longer {
		longer[i] = p.sides[0].times[i] - p.sides[1].times[i]
	}
	return Result{
		Ratio: Median(p.ratios), Difference: Median(longer), Op: Median(p.sides[0].times), Floor: Median(p.sides[1].times),
		Allocs: p.allocs, Bytes: p.bytes, Pairs: len(p.ratios),
	}
}

// Median returns the value in the middle, or between the two that are there.
func Median[T float64 | time.Duration](values []T) T {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
