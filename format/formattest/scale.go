package formattest

import (
	"context"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// scales makes models with many or large tensors.
type scales struct {
	cfg   *Config
	tally *tally
	made  map[[2]int64]*subject
}

// model writes a plan of n tensors, once, and returns the path of a copy.
func (y *scales) model(t *testing.T, n int, elems int64) (x *subject, path string) {
	t.Helper()
	if y.cfg.NamesFromPath {
		n = 1
	}
	key := [2]int64{int64(n), elems}
	if x = y.made[key]; x == nil {
		x = newSubject(t, y.cfg, &Sample{Name: "scale", Plan: y.cfg.Scale(n, elems)})
		if y.made == nil {
			y.made = map[[2]int64]*subject{}
		}
		y.made[key] = x
	}
	return x, x.stored(t, x.file)
}

// allocations: opening allocates a few times, whatever the number of tensors.
func (y *scales) allocations(t *testing.T) {
	if raceEnabled {
		y.tally.cannot(t, "Allocations", "allocations are not counted under the race detector")
	}
	if !testhost.Maps() {
		y.tally.cannot(t, "Allocations", "files are read into memory here")
	}
	c := y.cfg
	counts := map[int]float64{}
	for _, n := range []int{10, 100, 3000} {
		_, path := y.model(t, n, 4)
		counts[n] = testing.AllocsPerRun(5, func() {
			m, err := c.Codec.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
		})
		if counts[n] > float64(c.MaxAllocs) {
			t.Errorf("opening %d tensors allocates %v times, more than %d", n, counts[n], c.MaxAllocs)
		}
		if counts[n] > counts[10]+2 {
			t.Errorf("opening allocates %v times for %d tensors, %v times for 10", counts[n], n, counts[10])
		}
	}
	// The data of tensors are not copied.
	_, path := y.model(t, 4, 1<<18)
	const budget = 64 << 10
	if got := cost(budget, func() {
		m, err := c.Codec.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}); got > budget {
		t.Errorf("opening four tensors of %d bytes allocates %d", 1<<20, got)
	}
}

// lazyReader: behind an io.ReaderAt only the structural part is read on
// open, and a tensor when it is asked for.
func (y *scales) lazyReader(t *testing.T) {
	x, _ := y.model(t, 4, 1<<18)
	m, src := x.remote(t, nil)
	const most = 64 << 10
	if n := src.n.Load(); n > most {
		t.Errorf("opening reads %d bytes of %d", n, len(x.file))
	}
	if y.cfg.ReadsAll {
		firstUse(t, m)
	}
	src.n.Store(0)
	firstUse(t, m)
	if n := src.n.Load(); n < 1<<20 || n > 1<<20+most {
		t.Errorf("reading one tensor of %d bytes reads %d", 1<<20, n)
	}
}

// firstUse reads the first tensor.
func firstUse(t *testing.T, m *format.Model) {
	t.Helper()
	for _, v := range m.Tensors() {
		if _, err := v.Bytes(); err != nil {
			t.Fatal(err)
		}
		break
	}
}

// cancelVerify: a verification stops when its context is canceled half way.
func (y *scales) cancelVerify(t *testing.T) {
	x, path := y.model(t, 6, 1<<19)
	m := x.openPath(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var done int64
	_, err := m.Verify(ctx, format.WithWorkers(1), format.WithProgress(func(n, _ int64, _ string) {
		done = n
		cancel()
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Verify canceled by its first report = %v", err)
	}
	if done == 0 || done > int64(len(x.file))/2 {
		t.Errorf("Verify was canceled after %d bytes of %d", done, len(x.file))
	}
	checkProgress(t, func(p format.Progress) error {
		_, err := m.Verify(context.Background(), format.WithProgress(p))
		return err
	}, true)
}
