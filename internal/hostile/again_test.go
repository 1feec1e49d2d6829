package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// A temporary failure must leave a model as it was. These tests make each operation fail at every
// point, then run it again.

// sick is a reader that fails after a number of reads, until it is healed.
type sick struct {
	io.ReaderAt
	well bool
	left atomic.Int64 // some operations read in several goroutines
	how  func(r io.ReaderAt, p []byte, off int64) (int, error)
}

var errSick error = syscall.EIO

// ending is a context that is canceled after a number of calls of Err.
type ending struct {
	context.Context
	looks atomic.Int64
}

func (e *ending) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// thinly reports whether tests should run only some of their cases.
func thinly() bool { return testing.Short() || testhost.Race }

func (s *sick) ReadAt(p []byte, off int64) (int, error) {
	if s.well || s.left.Add(-1) >= 0 {
		return s.ReaderAt.ReadAt(p, off)
	}
	return s.how(s.ReaderAt, p, off)
}

// fall makes the reader fail after that many reads.
func (s *sick) fall(after int64, how func(r io.ReaderAt, p []byte, off int64) (int, error)) {
	s.left.Store(after)
	s.well, s.how = false, how
}

// sicknesses are the ways a reader can fail.
var sicknesses = map[string]func(r io.ReaderAt, p []byte, off int64) (int, error){
	"an error": func(io.ReaderAt, []byte, int64) (int, error) { return 0, errSick },
	"an error in the middle": func(r io.ReaderAt, p []byte, off int64) (int, error) {
		n, _ := r.ReadAt(p[:len(p)/2], off)
		return n, errSick
	},
	"a panic": func(io.ReaderAt, []byte, int64) (int, error) { panic(errSick) },
}

// recovered returns a panic of f as an error. It runs f in a new goroutine, because with the race
// detector a goroutine's stack grows with each recovered panic.
func recovered(f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				err = r.(error)
			}
		}()
		err = f()
	}()
	<-done
	return err
}

// operation is a use of a model.
type operation struct {
	name string
	do   func(ctx context.Context, m *format.Model) error
}

var operations = []operation{
	{"verify", func(ctx context.Context, m *format.Model) error {
		_, err := m.Verify(ctx, &format.VerifyOptions{Workers: 1})
		return err
	}},
	{"verify one", func(ctx context.Context, m *format.Model) error {
		_, err := m.Verify(ctx, &format.VerifyOptions{Workers: 1, Tensors: []string{m.At(m.Len() - 1).Name()}})
		return err
	}},
	{"graph", func(_ context.Context, m *format.Model) error {
		_, err := m.Graph()
		return err
	}},
	{"bytes", func(_ context.Context, m *format.Model) error {
		return each(m, func(v tensor.View) error { _, err := v.Bytes(); return err })
	}},
	{"decode", func(_ context.Context, m *format.Model) error {
		return each(m, func(v tensor.View) error { _, err := tensor.Decode[float64](nil, v); return err })
	}},
	{"read", func(ctx context.Context, m *format.Model) error {
		return each(m, func(v tensor.View) error {
			_, err := v.ReadIntoContext(ctx, make([]byte, v.Info().Size))
			return err
		})
	}},
	{"slice", func(ctx context.Context, m *format.Model) error {
		return each(m, func(v tensor.View) error {
			part, err := v.Slice(tensor.Range{From: 1, To: 3})
			if err == nil {
				_, err = part.Bytes()
			}
			return err
		})
	}},
	{"prefetch", func(ctx context.Context, m *format.Model) error { return m.Prefetch(ctx) }},
}

func each(m *format.Model, f func(v tensor.View) error) error {
	for name := range m.Tensors() {
		v, err := m.Tensor(name)
		if err == nil {
			err = f(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ways are the options with which a file is opened, by name or behind a reader.
var ways = []struct {
	name   string
	reader bool
	o      format.Options
}{
	{"mapped", false, format.Options{}},
	{"checked when touched", false, format.Options{Check: format.CheckTouch}},
	{"reader", true, format.Options{}},
	{"reader, checked when touched", true, format.Options{Check: format.CheckTouch}},
	{"reader with a cache", true, format.Options{CacheBytes: 1 << 20}},
}

// enough returns the smallest MaxMemory with which an operation succeeds.
func enough(t *testing.T, op *operation, open func(most int64) (*format.Model, *sick, error)) int64 {
	const most = 1 << 20
	n := sort.Search(most, func(n int) bool {
		m, _, err := open(int64(n) + 1)
		if err == nil {
			defer m.Close()
			err = op.do(context.Background(), m)
		}
		if err != nil && !errors.Is(err, format.ErrLimit) {
			t.Fatal(err)
		}
		return err == nil
	})
	return int64(n) + 1
}

// TestAgain: an operation that was canceled, or whose reader failed or panicked, at any point,
// succeeds the next time within the memory that it needs by itself.
func TestAgain(t *testing.T) {
	for _, s := range samples(t) {
		dir := t.TempDir()
		store(t, dir, s.files[0])
		for i, w := range ways {
			if s.open == "" && w.reader || thinly() && i%3 > 0 {
				continue
			}
			open := func(most int64) (*format.Model, *sick, error) {
				o, r := w.o, &sick{well: true}
				o.Key, o.Trusted, o.MaxMemory = s.storage.Key, s.trust, most
				if !w.reader {
					m, err := format.Open(filepath.Join(dir, s.open), &o)
					return m, r, err
				}
				b := s.bytes(0)
				r.ReaderAt, o.Dir = bytes.NewReader(b), dir
				m, err := format.OpenReaderAt(r, int64(len(b)), &o)
				return m, r, err
			}
			for k := range operations {
				t.Run(fmt.Sprintf("%v/%s/%s", s, w.name, operations[k].name), func(t *testing.T) { again(t, &operations[k], open) })
			}
		}
	}
}

func again(t *testing.T, op *operation, open func(most int64) (*format.Model, *sick, error)) {
	most := enough(t, op, open)
	m, _, err := open(most)
	expect.OK(t, err)
	defer func() { m.Close() }()
	for looks := int64(0); ; looks++ {
		ctx := &ending{Context: context.Background()}
		ctx.looks.Store(looks)
		err := op.do(ctx, m)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled after %d looks: %v", looks, err)
		}
	}
	m.Close()
	for name, how := range sicknesses {
		var r *sick
		if m, r, err = open(most); err != nil {
			t.Fatal(err)
		}
		for left := int64(0); ; left++ {
			r.fall(left, how)
			err := recovered(func() error { return op.do(context.Background(), m) })
			if err == nil {
				break
			}
			if !errors.Is(err, errSick) {
				t.Fatalf("%s after %d reads: %v", name, left, err)
			}
		}
		r.well = true
		if err := op.do(context.Background(), m); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		m.Close()
	}
}
