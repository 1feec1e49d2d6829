package formattest

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// scales builds models with many or large tensors.
type scales struct {
	cfg   *Config
	tally *tally
	made  map[[2]int64]*subject
}

// model writes a plan of n tensors, once for each size, and returns the path of a copy.
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

// allocations checks that the number of allocations of an open does not depend on the number of
// tensors.
func (y *scales) allocations(t *testing.T) {
	if testhost.Race {
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
	// Opening must not copy tensor data.
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

// lazyReader checks that behind an io.ReaderAt opening reads only the structure, and that a tensor
// is read on demand.
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

// counting counts the bytes read.
type counting struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// remote opens the file behind an io.ReaderAt until the test ends.
func (x *subject) remote(t *testing.T, o *format.Options) (*format.Model, *counting) {
	t.Helper()
	src := &counting{ReaderAt: bytes.NewReader(x.file)}
	m, err := x.codec.OpenReaderAt(src, int64(len(x.file)), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, src
}

// duplicates checks that a file with a duplicate name is refused. It makes one if the format stores
// names verbatim.
func (y *scales) duplicates(t *testing.T) {
	x, _ := y.model(t, 2, 4)
	if len(x.s.Plan.Tensors) < 2 {
		t.Skip("takes two tensors")
	}
	first, second := x.s.Plan.Tensors[0].Name, x.s.Plan.Tensors[1].Name
	if len(first) != len(second) || !bytes.Contains(x.file, []byte(second)) {
		t.Skip("names are not stored as plain bytes")
	}
	b := bytes.ReplaceAll(x.file, []byte(second), []byte(first))
	for _, check := range []format.Check{format.CheckStructure, format.CheckDefault} {
		m, err := x.codec.OpenBytes(b, &format.Options{Check: check})
		if err == nil {
			t.Errorf("check %d: a file with two tensors %q opens with %d", check, first, m.Len())
			m.Close()
			continue
		}
		x.checkErr(t, "a name twice", err)
		if check == format.CheckStructure && !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("a file with two tensors %q: %v, want ErrCorrupt", first, err)
		}
	}
}
