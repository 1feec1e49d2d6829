package mobi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// TestZeroFile: the zero File and one of nothing answer and never panic.
func TestZeroFile(t *testing.T) {
	var f File
	for name, err := range map[string]error{
		"Tensor":    func() error { _, err := f.Tensor("1"); return err }(),
		"Constant":  func() error { _, err := f.Constant(1); return err }(),
		"Operators": func() error { _, err := f.Operators(); return err }(),
		"Verify":    verify(t, &f),
		"Do":        f.Do(func() error { return nil }),
		"Pin":       func() error { _, err := f.Pin(); return err }(),
		"Prefetch":  f.Prefetch(),
	} {
		if !errors.Is(err, format.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(Header{}, f.Header()); d != "" {
		t.Errorf("Header (-want +got)\n%s", d)
	}
	if _, ok := f.Footer(); ok || f.Len() != 0 || f.Name() != "" || f.FrameworkVersion() != 0 || f.Timestamp() != 0 || f.Path() != "" {
		t.Error("the zero File says something")
	}
	if len(f.Inputs())+len(f.Outputs())+len(f.Metadata())+len(f.Notes()) != 0 {
		t.Error("the zero File lists something")
	}
	for range f.Constants() {
		t.Error("the zero File has constants")
	}
	for range f.Tensors() {
		t.Error("the zero File has tensors")
	}
	f.Stats()
	if err := f.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestFrom finds the File of a model that package format opened.
func TestFrom(t *testing.T) {
	m, err := format.OpenBytes(small().bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, ok := From(m)
	if !ok || f.Name() != "modèl" || f.Model != m {
		t.Errorf("From: %v", ok)
	}
	if _, ok := From(&format.Model{}); ok {
		t.Error("the zero Model is a MOBI file")
	}
}

// shifting is an io.ReaderAt whose content changes.
type shifting struct{ b []byte }

func (s *shifting) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, s.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestOpenCanceled: a context ends opening.
func TestOpenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := small().bytes()
	if _, err := OpenBytes(b, &format.Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenBytes: %v", err)
	}
	// The context ends when the records are read.
	ctx, cancel = context.WithCancel(t.Context())
	src := &canceling{ReaderAt: bytes.NewReader(b), cancel: cancel}
	if _, err := OpenReaderAt(src, int64(len(b)), &format.Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenReaderAt: %v", err)
	}
}

// canceling cancels when it is read.
type canceling struct {
	io.ReaderAt
	cancel func()
}

func (c *canceling) ReadAt(p []byte, off int64) (int, error) {
	c.cancel()
	return c.ReaderAt.ReadAt(p, off)
}
