// Package floor measures operations relative to their floors: the time the machine takes for the
// least work that would do, such as mapping a file, reading its bytes or copying them.
package floor

import (
	"errors"
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

// Then returns a round that runs op once at a time, each followed by after, which is not timed.
func Then(op Round, after func() error) Round {
	return func(n int) (took time.Duration, err error) {
		for range n {
			once, err := op(1)
			if err == nil {
				err = after()
			}
			if err != nil {
				return 0, err
			}
			took += once
		}
		return took, nil
	}
}

// Result is the outcome of pairs of rounds.
type Result struct {
	Ratio     float64       // median of the ratios of all pairs
	Op, Floor time.Duration // median time of one run
}

// Pairs runs op and floor alternately, for at least Rounds pairs and for as long as -benchtime
// says. It returns the median of the pairs' ratios and reports it as "x-floor": a stall of the
// machine affects one pair, not the median. The benchmark's own time is that of op.
func Pairs(b *testing.B, op, floor func() error) float64 {
	b.Helper()
	return PairsOf(b, Timed(op), Timed(floor)).Ratio
}

// PairsOf is Pairs for rounds of any kind.
func PairsOf(b *testing.B, op, floor Round) Result {
	b.Helper()
	r, err := compare(op, floor, Rounds, b.Loop)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(r.Op.Nanoseconds()), "ns/op")
	b.ReportMetric(r.Ratio, "x-floor")
	return r
}

// Compare is PairsOf without a benchmark. It runs for half a second.
func Compare(op, floor Round) (Result, error) {
	end := time.Now().Add(time.Second / 2)
	return compare(op, floor, Rounds, func() bool { return time.Now().Before(end) })
}

// compare measures pairs until more returns false, and at least that many.
func compare(op, floor Round, least int, more func() bool) (Result, error) {
	sides := [2]side{{run: op}, {run: floor}}
	err := errors.Join(sides[0].calibrate(), sides[1].calibrate())
	var ratios []float64
	for running := true; err == nil; {
		if running = running && more(); !running && len(ratios) >= least {
			break
		}
		n := len(ratios)
		if err = errors.Join(sides[n%2].measure(), sides[1-n%2].measure()); err == nil {
			ratios = append(ratios, sides[0].times[n]/sides[1].times[n])
		}
	}
	if err != nil {
		return Result{}, err
	}
	return Result{median(ratios), time.Duration(median(sides[0].times)), time.Duration(median(sides[1].times))}, nil
}

// side is one of two rounds that run alternately.
type side struct {
	run   Round
	n     int       // runs per round
	times []float64 // nanoseconds of one run, for each round
}

// calibrate runs the side once as a warm-up, and doubles the runs of a round until it takes long
// enough.
func (s *side) calibrate() error {
	_, err := s.run(1)
	for s.n = 1; err == nil && s.n < 1<<24; s.n *= 2 {
		var took time.Duration
		if took, err = s.run(s.n); took >= atLeast {
			break
		}
	}
	return err
}

func (s *side) measure() error {
	took, err := s.run(s.n)
	s.times = append(s.times, float64(took)/float64(s.n))
	return err
}

// median returns the middle value, or the mean of the two middle values.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
