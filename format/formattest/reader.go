package formattest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
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

// openPath opens the file at path until the test ends.
func (x *subject) openPath(t *testing.T, path string) *format.Model {
	t.Helper()
	m, err := x.codec.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
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
