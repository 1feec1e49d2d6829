package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Loading returns a function that opens a file and reads every byte of its tensors.
func Loading(path string, o *format.Options) func() error {
	return func() error {
		f, err := format.Open(path, o)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, v := range f.Tensors() {
			if err := v.Use(func(p []byte) error { floor.Read(p); return nil }); err != nil {
				return err
			}
		}
		return nil
	}
}

// Reading returns a function that reads the bytes of a model from a mapped file with that number of
// goroutines.
func Reading(b *testing.B, m Model, workers int) func() error {
	v := Open(b, File(b, "mag", single(m)).Path).At(0)
	return func() error {
		return v.Use(func(data []byte) error { floor.ReadOn(workers, data); return nil })
	}
}

// verify measures verifying an open file on two processors, relative to reading it on two. WIA
// is relative to SHA-256, which cannot be split, of data in the processor's cache.
func (t *table) verify() {
	const workers = 2
	hashing := func(b *testing.B) func() error {
		_, data := large.Plan()
		piece := data[:1<<14]
		return func() error {
			for range len(data) / len(piece) {
				sha256.Sum256(piece)
			}
			return nil
		}
	}
	reading := func(b *testing.B) func() error { return Reading(b, large, workers) }
	for _, c := range []struct {
		name, format string
		m            Model
		limit        float64
		floor        func(b *testing.B) func() error
	}{
		{"mle", "mle", large, 1.15, reading}, {"tsr", "tsr", single(large), 1.15, reading}, {"tsr/directory", "tsr", large, 1.15, reading},
		{"mobi", "mobi", large, 1.3, reading}, {"mag", "mag", large, 2.4, reading}, {"wia", "wia", large, 1.05, hashing},
	} {
		t.most("verify/"+c.name, c.limit, func(b *testing.B) float64 {
			f := Open(b, File(b, c.format, c.m).Path)
			for _, v := range f.Tensors() { // the pages of the baseline are resident too
				_, err := v.Digest()
				must(b, err)
			}
			return floor.Pairs(b, func() error {
				_, err := f.Verify(context.Background(), format.WithWorkers(workers))
				return err
			}, c.floor(b))
		})
	}
}

// cold is a model whose file can be evicted from memory.
type cold struct {
	*format.Model
	path string
}

// coldModel writes a model. It skips the benchmark if the file cannot be evicted.
func coldModel(b *testing.B, m Model) cold {
	path := filepath.Join(b.TempDir(), "model.mag")
	_, err := Write("mag", path, m, nil)
	must(b, err)
	c := cold{Open(b, path), path}
	if err := c.drop(); err != nil {
		b.Skip(err)
	}
	return c
}

// drop evicts the file from memory.
func (c cold) drop() error { return errors.Join(c.Evict(), floor.Evict(c.path)) }

// pread fills dst from the file with that number of goroutines.
func (c cold) pread(workers int, dst []byte) error {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer f.Close()
	const step = 1 << 20
	return work.Each(context.Background(), (len(dst)+step-1)/step, workers, func(i int) error {
		_, err := f.ReadAt(dst[i*step:min((i+1)*step, len(dst))], int64(i*step))
		return err
	})
}

// resident returns a slice whose pages are in memory.
func resident[T byte | float32](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// load measures Model.Load of all rows of 1 GB, in an order that jumps about, relative to two goroutines that read
// the same bytes into the same memory by pread(2): with the file in the system's cache, and on disk.
func (t *table) load() {
	const tensors, rows, columns, workers = 64, 4, 1 << 20, 2
	loading := func(b *testing.B, drop bool) float64 {
		c := coldModel(b, uniform("layers", tensors, tensor.Float32, rows, columns))
		dst := resident[byte](tensors * rows * columns * 4)
		var requests []format.Request
		for k := range tensors * rows {
			k = k * 7919 % (tensors * rows)
			v := c.At(k / rows)
			requests = append(requests, format.Request{Tensor: v.Name(), Slice: []tensor.Range{tensor.At(int64(k % rows))}, Bytes: dst[k*columns*4:][:columns*4]})
		}
		after := func() error { return nil }
		if drop {
			after = c.drop
		}
		load := func() error { return c.Load(context.Background(), requests, nil) }
		pread := func() error { return c.pread(workers, dst) }
		return floor.PairsOf(b, floor.Then(floor.Timed(load), after), floor.Then(floor.Timed(pread), after)).Ratio
	}
	t.most("load/warm", 1.05, func(b *testing.B) float64 { return loading(b, false) })
	t.most("load/cold", 1.1, func(b *testing.B) float64 { return loading(b, true) })
}

// lateness measures the delay of a goroutine that sleeps for a millisecond repeatedly while
// another one on the same processor reads 512 MB that are not in memory. It is relative to the delay
// during a loop of pread(2).
func (t *table) lateness() {
	const size = 512 << 20
	add := func(name string, op func(c cold, dst []byte, floats []float32) error) {
		t.most("lateness/"+name, 2, func(b *testing.B) float64 {
			c := coldModel(b, uniform("half", 1, tensor.Float16, size/2))
			dst, floats := resident[byte](size), resident[float32](size/2)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			reading := func() error { return op(c, dst, floats) }
			pread := func() error { return c.pread(1, dst) }
			return floor.PairsOf(b, late(c, reading), late(c, pread)).Ratio
		})
	}
	add("ReadInto", func(c cold, dst []byte, _ []float32) error {
		_, err := c.At(0).ReadInto(dst)
		return err
	})
	add("Decode", func(c cold, _ []byte, floats []float32) error {
		_, err := tensor.Decode(floats, c.At(0))
		return err
	})
	add("Verify", func(c cold, _ []byte, _ []float32) error {
		_, err := c.Verify(context.Background())
		return err
	})
}

// late returns a round whose time is the 99th percentile of a sleeper's delay during op, which runs once.
func late(c cold, op func() error) floor.Round {
	return func(n int) (time.Duration, error) {
		if err := c.drop(); err != nil {
			return 0, err
		}
		done := make(chan error, 1)
		go func() { done <- op() }()
		var lates []time.Duration
		for {
			start := time.Now()
			time.Sleep(time.Millisecond)
			lates = append(lates, time.Since(start)-time.Millisecond)
			select {
			case err := <-done:
				return p99(lates) * time.Duration(n), err
			default:
			}
		}
	}
}

// remote measures Model.Load of 256 tensors that are apart, from a server that takes 20 ms for each request, with 4
// connections relative to 32.
func (t *table) remote() {
	t.least("remote/connections", 5.8, func(b *testing.B) float64 {
		data, err := os.ReadFile(File(b, "mag", uniform("apart", 512, tensor.Float16, 32<<10)).Path)
		must(b, err)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Millisecond)
			w.Header().Set("Etag", `"model"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		}))
		b.Cleanup(s.Close)
		return floor.Pairs(b, fetching(b, s.URL, 4), fetching(b, s.URL, 32))
	})
}

// fetching returns a function that loads every other tensor of a model with that number of connections.
func fetching(b *testing.B, url string, connections int) func() error {
	m, err := remote.Open(context.Background(), url, &remote.Options{Parallel: connections})
	must(b, err)
	b.Cleanup(func() { m.Close() })
	var requests []format.Request
	for i := 0; i < m.Len(); i += 2 {
		v := m.At(i)
		requests = append(requests, format.Request{Tensor: v.Name(), Bytes: make([]byte, v.Info().Size)})
	}
	return func() error { return m.Load(context.Background(), requests, nil) }
}
