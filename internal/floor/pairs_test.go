package floor

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestCompare: the result is the median of the pairs' ratios, not a ratio of sums or of medians, and
// the sides alternate in coming first. The first three rounds of the operation and two of the floor
// are preparation.
func TestCompare(t *testing.T) {
	const ms = time.Millisecond
	var order []string
	op := script(&order, "op", ms, ms, ms, 20*ms, 900*ms, 30*ms)
	floor := script(&order, "floor", ms, ms, 10*ms, 10*ms, 10*ms)
	got, err := Compare(3, op, floor)
	if err != nil {
		t.Fatal(err)
	}
	got.Allocs, got.Bytes = 0, 0 // of the script itself
	want := Result{Ratio: 3, Difference: 20 * ms, Op: 30 * ms, Floor: 10 * ms, Pairs: 3}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	wantOrder := []string{"op", "op", "floor", "floor", "op", "op", "floor", "floor", "op", "op", "floor"}
	if d := cmp.Diff(wantOrder, order); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestRounds: short operations run more often per round, and ratios are per run.
func TestRounds(t *testing.T) {
	var most int
	op := func(n int) (time.Duration, error) {
		most = max(most, n)
		return time.Duration(n) * 100 * time.Microsecond, nil
	}
	floor := func(n int) (time.Duration, error) { return time.Duration(n) * 5 * time.Millisecond, nil }
	got, err := Compare(15, op, floor)
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
		if _, err := Compare(2, failing(at), fine); !errors.Is(err, bad) {
			t.Errorf("operation %d: %v", at, err)
		}
		if _, err := Compare(2, fine, failing(at)); !errors.Is(err, bad) {
			t.Errorf("floor %d: %v", at, err)
		}
	}
	if _, err := Then(func() error { return nil }, func() error { return bad })(1); !errors.Is(err, bad) {
		t.Error(err)
	}
}

// TestAllocs: allocations are counted per run, not per round.
func TestAllocs(t *testing.T) {
	var kept []byte
	got, err := Compare(1, Timed(func() error { kept = make([]byte, 4096); return nil }), Timed(func() error { return nil }))
	if err != nil || got.Allocs != 1 || got.Bytes < 4096 || got.Bytes > 4200 || len(kept) == 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{3, 100, 1}, 3}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := Median(tt.values); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
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
