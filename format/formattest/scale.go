package formattest

import (
	"bytes"
	"io"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// scales builds models with many or large tensors.
type scales struct {
	cfg   *Config
	tally *tally
}

// model writes a schema of n tensors, and returns its path.
func (y *scales) model(t *testing.T, n int, elems int64) (x *subject, path string) {
	t.Helper()
	if y.cfg.NamesFromPath {
		n = 1
	}
	x = newSubject(t, y.cfg, &Sample{Schema: y.cfg.Scale(n, elems)})
	return x, x.stored(t, x.file)
}

// mostGrowth is the number of allocations in which the lists of an open model grow from ten to
// 3,000 tensors.
const mostGrowth = 100

// allocations checks that opening makes no allocation for each tensor.
func (y *scales) allocations(t *testing.T) {
	if !testhost.CountsAllocs() {
		y.tally.checked["Allocations"] = true
		t.Skip("opening a file allocates more here, or under the race detector")
	}
	c := y.cfg
	open := func(path string) {
		m, err := format.Open(path, &format.Options{Format: c.Format})
		expect.OK(t, err)
		m.Close()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a garbage collection empties pools
	counts := map[int]float64{}
	for _, n := range []int{10, 3000} {
		_, path := y.model(t, n, 4)
		counts[n] = testing.AllocsPerRun(5, func() { open(path) })
	}
	if counts[10] > float64(c.MaxAllocs) {
		t.Errorf("opening ten tensors allocates %v times, more than %d", counts[10], c.MaxAllocs)
	}
	if counts[3000] > counts[10]+mostGrowth {
		t.Errorf("opening allocates %v times for 3,000 tensors, %v times for ten", counts[3000], counts[10])
	}
	// Opening must not copy tensor data.
	_, path := y.model(t, 4, 1<<18)
	const budget = 64 << 10
	if got := cost(budget, func() { open(path) }); got > budget {
		t.Errorf("opening four tensors of %d bytes allocates %d", 1<<20, got)
	}
}

// lazyReader checks that behind an io.ReaderAt opening reads only the structure, and that a tensor
// is read on demand.
func (y *scales) lazyReader(t *testing.T) {
	x, _ := y.model(t, 4, 1<<18)
	src := &counting{ReaderAt: bytes.NewReader(x.file)}
	m, err := format.OpenReaderAt(src, int64(len(x.file)), &format.Options{Format: y.cfg.Format})
	expect.OK(t, err)
	defer m.Close()
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
	if _, err := m.At(0).Bytes(); err != nil {
		t.Fatal(err)
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
