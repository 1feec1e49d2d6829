package mobi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestFrom checks From for a model that package format opened.
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

// TestOpenCanceled checks that canceling the context stops opening.
func TestOpenCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := small().bytes()
	if _, err := OpenBytes(b, &format.Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenBytes: %v", err)
	}
	// The context is canceled while the records are read.
	ctx, cancel = context.WithCancel(t.Context())
	src := &canceling{ReaderAt: bytes.NewReader(b), cancel: cancel}
	if _, err := OpenReaderAt(src, int64(len(b)), &format.Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenReaderAt: %v", err)
	}
}

// canceling is a reader that calls cancel.
type canceling struct {
	io.ReaderAt
	cancel func()
}

func (c *canceling) ReadAt(p []byte, off int64) (int, error) {
	c.cancel()
	return c.ReaderAt.ReadAt(p, off)
}
