package tsr

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

func TestVerifyProgress(t *testing.T) {
	const n = 3 << 20
	dir := tree(t, map[string][]byte{"large.tsr": file(2, 1, [4]int32{1, 1, 1, n}, make([]byte, n)).bytes(), "small.tsr": good})
	for _, c := range []struct {
		path string
		opts []format.VerifyOption
		want string
	}{
		{dir, nil, "3145731/3145731"},
		{dir, []format.VerifyOption{format.WithTensors("large")}, "3145728/3145728"},
		{dir, []format.VerifyOption{format.WithTensors("small", "small"), format.WithWorkers(1)}, "3/3"},
		{filepath.Join(dir, "large.tsr"), nil, "3145728/3145728"},
	} {
		f, err := Open(c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		progress := format.WithProgress(func(done, total int64, _ string) { last = fmt.Sprintf("%d/%d", done, total) })
		if _, err := f.Verify(t.Context(), append(c.opts, progress)...); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, last); diff != "" {
			t.Error(diff)
		}
		f.Close()
	}
}

func TestVerifyRefuses(t *testing.T) {
	f := three(t)
	defer f.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		opt  format.VerifyOption
		want error
	}{
		{"canceled", canceled, format.WithWorkers(0), context.Canceled},
		{"trusted key", t.Context(), format.WithTrustedKey(ed25519.PublicKey(make([]byte, 32))), format.ErrSignature},
		{"no such tensor", t.Context(), format.WithTensors("a", "none"), format.ErrNotFound},
	} {
		if _, err := f.Verify(c.ctx, c.opt); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestVerifyCanceledWithin cancels during one large tensor.
func TestVerifyCanceledWithin(t *testing.T) {
	const n = 3 << 20
	f, err := OpenBytes(file(2, 1, [4]int32{1, 1, 1, n}, make([]byte, n)).bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err = f.Verify(ctx, format.WithProgress(func(int64, int64, string) { calls++; cancel() }))
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// shrinking is a reader that loses its end.
type shrinking struct {
	io.ReaderAt
	size int64
}

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.ReaderAt, 0, s.size).ReadAt(p, off)
}

func TestVerifyReader(t *testing.T) {
	const n = 3 << 20
	b := file(2, 1, [4]int32{1, 1, 1, n}, make([]byte, n)).bytes()
	s := &shrinking{bytes.NewReader(b), int64(len(b))}
	f, err := OpenReaderAt(s, s.size, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	s.size--
	var e *format.Error
	if _, err := f.Verify(t.Context()); !errors.As(err, &e) || !errors.Is(err, format.ErrTruncated) || e.Field != `tensor "tensor"` || e.Format != "tsr" {
		t.Errorf("%v", err)
	}
}
