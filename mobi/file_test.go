package mobi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weightmap/weightmap/format"
)

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
