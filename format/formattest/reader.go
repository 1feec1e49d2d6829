package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// counting counts the bytes that are read.
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
func (x *subject) remote(t *testing.T, o *format.Options) (model, *counting) {
	t.Helper()
	src := &counting{ReaderAt: bytes.NewReader(x.file)}
	m, err := x.codec.OpenReaderAt(src, int64(len(x.file)), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, src
}

// openPath opens the file at path until the test ends.
func (x *subject) openPath(t *testing.T, path string) model {
	t.Helper()
	m, err := x.codec.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// ranged: behind an io.ReaderAt a part of a plain tensor is fetched alone.
func (x *subject) ranged(t *testing.T) {
	src := &counting{ReaderAt: bytes.NewReader(x.file)}
	o := x.with(func(o *format.Options) { o.Check = format.CheckStructure })
	m, err := x.codec.OpenReaderAt(src, int64(len(x.file)), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	none := true
	for name, v := range m.Tensors() {
		if !isPlain(v.Info()) {
			continue
		}
		none = false
		want := x.base.Data[x.nameOf(name, false)]
		fetches := func(what string, n int, f func() ([]byte, error), want []byte) {
			src.n.Store(0)
			b, err := f()
			if got := src.n.Load(); got != int64(n) || err != nil || !bytes.Equal(b, want) {
				t.Errorf("%s of tensor %q fetches %d bytes for %d, or other bytes: %v", what, name, got, n, err)
			}
		}
		half := len(want) / 2
		fetches("ReadAt", len(want)-half, func() ([]byte, error) {
			p := make([]byte, len(want)-half)
			_, err := v.ReadAt(p, int64(half))
			return p, err
		}, want[half:])
		fetches("ReadInto", len(want), func() ([]byte, error) {
			p := make([]byte, len(want))
			_, err := v.ReadInto(p)
			return p, err
		}, want)
		if shape := v.Shape(); len(shape) > 0 && v.Info().Encoding == nil {
			row := len(want) / int(shape[0])
			fetches("a row", row, func() ([]byte, error) { return sliced(v, tensor.At(shape[0]-1)) }, want[len(want)-row:])
		}
		if shape := v.Shape(); len(shape) == 2 && v.Info().Encoding == nil {
			size := int(v.DType().Size())
			var column []byte
			for at := 0; at < len(want); at += size * int(shape[1]) {
				column = append(column, want[at:at+size]...)
			}
			fetches("a column", len(column), func() ([]byte, error) { return sliced(v, tensor.Range{To: tensor.End}, tensor.At(0)) }, column)
		}
	}
	if none {
		t.Skip("no tensor is in the file as such")
	}
}

// sliced returns the bytes of a part.
func sliced(v tensor.View, ranges ...tensor.Range) ([]byte, error) {
	s, err := v.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	return s.Bytes()
}

// verifyReads: behind an io.ReaderAt a verification reads all data.
func (y *scales) verifyReads(t *testing.T) {
	x, _ := y.model(t, 4, 1<<18)
	m, src := x.remote(t, nil)
	src.n.Store(0)
	_, err := m.Verify(context.Background())
	if data := int64(m.Len()) << 20; err != nil || src.n.Load() < data {
		t.Errorf("Verify of %d bytes of data behind a reader reads %d, %v", data, src.n.Load(), err)
	}
}

// oneTensor: verifying one tensor reads that tensor, not the others.
func (y *scales) oneTensor(t *testing.T) {
	x, _ := y.model(t, 4, 1<<18)
	m, src := x.remote(t, nil)
	if m.Len() < 2 {
		t.Skip("takes two tensors")
	}
	src.n.Store(0)
	_, err := m.Verify(context.Background(), format.WithTensors(m.At(1).Name()))
	if n := src.n.Load(); err != nil || n < 1<<20 || n > 1<<20+64<<10 {
		t.Errorf("Verify of one tensor of %d bytes reads %d, %v", 1<<20, n, err)
	}
}

// duplicates: a file with a name twice is refused. The kit makes one where names
// are in the file as they are.
func (y *scales) duplicates(t *testing.T) {
	x, _ := y.model(t, 2, 4)
	if len(x.s.Plan.Tensors) < 2 {
		t.Skip("takes two tensors")
	}
	first, second := x.s.Plan.Tensors[0].Name, x.s.Plan.Tensors[1].Name
	if len(first) != len(second) || !bytes.Contains(x.file, []byte(second)) {
		t.Skip("names are not in the file as such")
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

// secondFault: a fault in another tensor than the one that Use hands out, or in any
// within Do, is ErrTruncated and names that tensor.
func (y *scales) secondFault(t *testing.T) {
	if why := testhost.Cuts(); why != "" {
		y.tally.cannot(t, "SecondFault", why)
	}
	x, path := y.model(t, 4, 1<<16)
	m := x.openPath(t, path)
	places := extents(m)
	if len(places) < 2 || !m.At(0).ZeroCopy() {
		t.Skip("takes two tensors that are views of the mapping")
	}
	first, last := places[0], places[len(places)-1]
	a, errA := m.Tensor(first.name)
	b, errB := m.Tensor(last.name)
	rawA, _ := a.Bytes()
	rawB, _ := b.Bytes()
	if errA != nil || errB != nil || rawA == nil || rawB == nil {
		t.Fatal(errA, errB)
	}
	if err := os.Truncate(path, (last.from+last.to)/2&^(1<<16-1)); err != nil {
		t.Fatal(err)
	}
	touch := func() error { sum(rawA); sum(rawB); return nil }
	for what, f := range map[string]func() error{
		"Do":  func() error { return m.Do(touch) },
		"Use": func() error { return a.Use(func([]byte) error { return touch() }) },
		"Use in Use": func() error {
			return a.Use(func([]byte) error { return b.Use(func(p []byte) error { sum(p); return nil }) })
		},
		"Use in Do": func() error { return m.Do(func() error { return a.Use(func([]byte) error { return touch() }) }) },
		"Do in Use": func() error { return a.Use(func([]byte) error { return m.Do(touch) }) },
		"after Do":  func() error { _ = m.Do(touch); return m.Do(touch) },
		"Decode in Use": func() error {
			return a.Use(func([]byte) error { _, err := tensor.Decode[float64](nil, b); return err })
		},
	} {
		survives(t, what, func() {
			err := f()
			var e *format.Error
			if !errors.Is(err, format.ErrTruncated) || !errors.As(err, &e) || !strings.Contains(e.Field, fmt.Sprintf("%q", last.name)) || e.Path == "" {
				t.Errorf("%s: a fault in tensor %q, of a file that was cut = %v, want ErrTruncated that names it", what, last.name, err)
			}
		})
	}
	if err := m.Do(func() error { sum(rawA); return nil }); err != nil {
		t.Errorf("Do with a tensor that is whole: %v", err)
	}
}
