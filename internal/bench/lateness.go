package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// latenessVerdicts measures the delay of a goroutine that sleeps for a millisecond repeatedly while
// another one on the same processor reads 512 MB that are not in memory. It is relative to the delay
// during a loop of pread(2).
func latenessVerdicts() (all []verdict) {
	const size = 512 << 20
	for _, c := range []struct {
		name string
		op   func(m *format.Model, dst []byte, floats []float32) error
	}{
		{"ReadInto", func(m *format.Model, dst []byte, _ []float32) error {
			_, err := m.At(0).ReadInto(dst)
			return err
		}},
		{"Decode", func(m *format.Model, _ []byte, floats []float32) error {
			_, err := tensor.Decode(floats, m.At(0))
			return err
		}},
		{"Verify", func(m *format.Model, _ []byte, _ []float32) error {
			_, err := m.Verify(context.Background())
			return err
		}},
	} {
		all = append(all, verdict{name: "lateness/" + c.name, limit: 2, figure: func(b *testing.B) float64 {
			cold := coldModel(b, tensor.Info{Name: "t", DType: tensor.Float16, Shape: tensor.Shape{size / 2}, Size: size})
			dst, floats := filled[byte](size), filled[float32](size/2)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			return floor.PairsOf(b, floor.Rounds,
				late(cold.drop, func() error { return c.op(cold.m, dst, floats) }),
				late(cold.drop, func() error { return cold.pread(1, dst) })).Ratio
		}})
	}
	return all
}

// filled returns a slice whose pages are resident.
func filled[T byte | float32](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// late returns a round whose time is the 99th percentile of a sleeper's delay during op.
func late(before, op func() error) floor.Round {
	return func(n int) (time.Duration, error) {
		if err := before(); err != nil {
			return 0, err
		}
		done, failed := make(chan struct{}), error(nil)
		go func() {
			defer close(done)
			failed = op()
		}()
		var lates []time.Duration
		for {
			start := time.Now()
			time.Sleep(time.Millisecond)
			lates = append(lates, time.Since(start)-time.Millisecond)
			select {
			case <-done:
				slices.Sort(lates)
				return lates[len(lates)*99/100] * time.Duration(n), failed
			default:
			}
		}
	}
}

// cold is a model whose file can be evicted from memory.
type cold struct {
	m    *format.Model
	file *os.File
}

// coldModel writes a model of these tensors. It skips the benchmark if the file cannot be evicted.
func coldModel(b *testing.B, tensors ...tensor.Info) *cold {
	data := filled[byte](int(tensors[0].Size))
	path := filepath.Join(b.TempDir(), "model.mag")
	p := &format.Plan{Tensors: tensors}
	w, err := format.Create("mag", path, p, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort()
	for _, t := range tensors {
		err = errors.Join(err, w.WriteTensor(t.Name, bytes.NewReader(data[:t.Size])))
	}
	c := &cold{}
	if err = errors.Join(err, w.Close()); err == nil {
		c.m, err = format.Open(path, nil)
	}
	if err == nil {
		c.file, err = os.Open(path)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.m.Close(); c.file.Close() })
	if err := c.drop(); err != nil {
		b.Skip(err)
	}
	return c
}

// drop evicts the file from memory.
func (c *cold) drop() error { return errors.Join(c.m.Evict(), floor.Drop(c.file)) }

// pread fills dst from the file with that number of goroutines.
func (c *cold) pread(workers int, dst []byte) error {
	const step = 1 << 20
	return work.Each(context.Background(), (len(dst)+step-1)/step, workers, func(i int) error {
		_, err := c.file.ReadAt(dst[i*step:min((i+1)*step, len(dst))], int64(i*step))
		return err
	})
}
