package formattest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
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
func firstUse(t *testing.T, m model) {
	t.Helper()
	for _, v := range m.Tensors() {
		if _, err := v.Bytes(); err != nil {
			t.Fatal(err)
		}
		break
	}
}

// cutWhileMapped: a file that is truncated while it is mapped gives errors.
func (y *scales) cutWhileMapped(t *testing.T) {
	if why := testhost.Cuts(); why != "" {
		y.tally.cannot(t, "CutWhileMapped", why)
	}
	x, path := y.model(t, 4, 1<<16)
	m := x.openPath(t, path)
	var last tensor.View
	for _, v := range m.Tensors() {
		if v.Info().Offset >= last.Info().Offset {
			last = v
		}
	}
	info := last.Info()
	if info.Offset < 0 {
		t.Skip("tensors are not in the file as such")
	}
	if y.cfg.ReadsAll {
		firstUse(t, m) // or the check of the sum would find the first missing byte
	}
	// Whole pages are missing, whatever their size here.
	keep := (info.Offset + info.Size/2) &^ (1<<16 - 1)
	if err := os.Truncate(path, keep); err != nil {
		t.Fatal(err)
	}
	for _, a := range accessors {
		if raw(a.name) {
			continue
		}
		checkCutErr(t, a.name, a.call(last), keep, info)
	}
	_, err := m.Verify(context.Background())
	checkCutErr(t, "Verify", err, -1, info)
	_, err = m.Verify(context.Background(), format.WithWorkers(1))
	checkCutErr(t, "Verify by one goroutine", err, -1, info)
}

// checkCutErr looks at the error of an access to missing bytes.
func checkCutErr(t *testing.T, what string, err error, keep int64, info tensor.Info) {
	t.Helper()
	if !errors.Is(err, format.ErrTruncated) {
		t.Errorf("%s of a file cut while mapped = %v, want ErrTruncated", what, err)
		return
	}
	var e *format.Error
	if !errors.As(err, &e) || e.Format == "" || e.Path == "" {
		t.Errorf("%s: the error names no file: %v", what, err)
	} else if keep >= 0 && (e.Offset < keep || e.Offset >= info.Offset+info.Size) {
		t.Errorf("%s: the error names offset %#x; the file ends at %#x, the tensor at %#x", what, e.Offset, keep, info.Offset+info.Size)
	}
}

// emptied: of a mapped file that lost all its bytes only what was read before
// can be had. The rest is ErrTruncated, and the process lives.
func (x *subject) emptied(t *testing.T) {
	if why := testhost.Cuts(); why != "" {
		x.tally.cannot(t, "Emptied", why)
	}
	for _, warm := range []bool{false, true} {
		path := x.stored(t, x.file)
		m, err := x.codec.Open(path, x.s.Options)
		if err != nil {
			t.Fatal(err)
		}
		if warm {
			x.quietly(t, "before", m, nil)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		survives(t, "reading an emptied file", func() {
			x.quietly(t, "emptied", m, format.ErrTruncated)
			x.useEmptied(t, m)
		})
		m.Close()
	}
}

// useEmptied tries the guarded accessors.
func (x *subject) useEmptied(t *testing.T, m model) {
	for name, v := range m.Tensors() {
		for _, a := range accessors {
			if raw(a.name) {
				continue
			}
			if err := a.call(v); err == nil && v.Len() > 0 {
				if b, err := v.Bytes(); err != nil || v.ZeroCopy() || !bytes.Equal(b, x.base.Data[x.nameOf(name, true)]) {
					t.Errorf("%s of tensor %q of an emptied file works, and shows other bytes", a.name, name)
				}
			} else if err != nil && !errors.Is(err, format.ErrTruncated) {
				t.Errorf("%s of tensor %q of an emptied file = %v, want ErrTruncated", a.name, name, err)
			}
		}
	}
	_, err := m.Verify(context.Background())
	if x.s.VerifyErr != nil && errors.Is(err, x.s.VerifyErr) {
		return
	}
	if big, ok := x.largest(); ok && !errors.Is(err, format.ErrTruncated) {
		t.Errorf("Verify of an emptied file, which had %d bytes in tensor %q, = %v, want ErrTruncated", big.Size, big.Name, err)
	}
}

// raw tells which accessors hand out slices that nothing guards.
func raw(accessor string) bool {
	return accessor == "Bytes" || accessor == "As" || accessor == "Slice"
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
