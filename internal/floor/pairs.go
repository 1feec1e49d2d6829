// Package floor measures operations relative to their floors: the time the machine takes for the least
// work that would do, such as mapping a file, reading its bytes or copying them.
package floor

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// atLeast is the minimum time of a round: long enough for the clock and the scheduler, and short
// enough that both rounds of a pair see the same conditions.
const atLeast = time.Millisecond

// Rounds is the minimum number of pairs behind a ratio.
const Rounds = 15

// Round runs an operation n times and returns the time that took, without setup and cleanup.
type Round func(n int) (time.Duration, error)

// Timed returns a round of an operation without setup or cleanup.
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

// Then returns a round of op followed by after, which is not timed.
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

// Result is the outcome of pairs of rounds.
type Result struct {
	Ratio      float64       // median of the ratios of all pairs
	Difference time.Duration // median of op minus floor
	Op, Floor  time.Duration // median time of one run
	Allocs     float64       // per run of op, in all goroutines
	Bytes      float64       // allocated per run of op
	Pairs      int
}

// Pairs runs op and floor alternately, for at least that many pairs of rounds and for as long as
// -benchtime says. It returns the median of the pairs' ratios and reports it as "x-floor": a stall of
// the machine affects one pair, not the median. The benchmark's own time is that of op.
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

// Compare is Pairs without a benchmark. It runs for half a second.
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

// pairs is two rounds that run alternately.
type pairs struct {
	sides         [2]side // operation, floor
	ratios        []float64
	took          time.Duration // total time
	allocs, bytes float64
}

type side struct {
	run   Round
	n     int             // runs per round
	times []time.Duration // time of one run, for each round
}

// prepare runs both sides once as a warm-up, and determines how many runs make a round.
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

// calibrate doubles the runs of a round until it takes long enough.
func (s *side) calibrate() error {
	for s.n = 1; s.n < 1<<24; s.n *= 2 {
		took, err := s.run(s.n)
		if err != nil || took >= atLeast {
			return err
		}
	}
	return nil
}

// pair runs both sides, and alternates which comes first.
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

// Median returns the middle value, or the mean of the two middle values.
func Median[T float64 | time.Duration](values []T) T {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
