package floor

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
)

// script returns a round whose runs take the given times.
func script(order *[]string, name string, took ...time.Duration) Round {
	return func(n int) (time.Duration, error) {
		*order = append(*order, name)
		d := took[0]
		if len(took) > 1 {
			took = took[1:]
		}
		return d * time.Duration(n), nil
	}
}

// never ends the measurement after the least number of pairs.
func never() bool { return false }

// TestCompare: the result is the median of the pairs' ratios, not a ratio of sums or of medians, and
// the sides alternate in coming first. The first two rounds of each side are preparation.
func TestCompare(t *testing.T) {
	const ms = time.Millisecond
	var order []string
	op := script(&order, "op", ms, ms, 20*ms, 900*ms, 30*ms)
	floor := script(&order, "floor", ms, ms, 10*ms, 10*ms, 10*ms)
	got, err := compare(op, floor, 3, never)
	expect.OK(t, err)
	want := Result{Ratio: 3, Op: 30 * ms, Floor: 10 * ms}
	expect.Equal(t, want, got)
	wantOrder := []string{"op", "op", "floor", "floor", "op", "floor", "floor", "op", "op", "floor"}
	expect.Equal(t, wantOrder, order)
}

// TestRounds: short operations run more often per round, and ratios are per run.
func TestRounds(t *testing.T) {
	var most int
	op := func(n int) (time.Duration, error) {
		most = max(most, n)
		return time.Duration(n) * 100 * time.Microsecond, nil
	}
	floor := func(n int) (time.Duration, error) { return time.Duration(n) * 5 * time.Millisecond, nil }
	got, err := Compare(op, floor)
	if err != nil || got.Ratio != 0.02 || most != 16 {
		t.Errorf("%+v, %v, %d operations a round", got, err, most)
	}
}

func TestCompareErrors(t *testing.T) {
	bad := errors.New("bad")
	fine := Timed(func() error { return nil })
	failing := func(at int) Round {
		return Timed(func() error {
			if at--; at < 0 {
				return bad
			}
			time.Sleep(atLeast)
			return nil
		})
	}
	for at := range 4 {
		if _, err := compare(failing(at), fine, 2, never); !errors.Is(err, bad) {
			t.Errorf("operation %d: %v", at, err)
		}
		if _, err := compare(fine, failing(at), 2, never); !errors.Is(err, bad) {
			t.Errorf("floor %d: %v", at, err)
		}
	}
	if _, err := Then(fine, func() error { return bad })(1); !errors.Is(err, bad) {
		t.Error(err)
	}
}

// TestRead: every byte counts, on any number of goroutines.
func TestRead(t *testing.T) {
	data := bytes.Repeat([]byte{1}, 3*piece+77)
	sum := func(read func()) uint64 {
		before := sink.Load()
		read()
		return sink.Load() - before
	}
	const rest = 13 // bytes after the last 32
	words, ones := uint64(len(data)-rest)/8, uint64(0x0101010101010101)
	want := words*ones + rest // modulo 2^64
	for workers := 1; workers < 6; workers++ {
		if got := sum(func() { ReadOn(workers, data) }); got != want {
			t.Errorf("%d workers: %#x, want %#x", workers, got, want)
		}
	}
	if got := sum(func() { Read(data) }); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}
