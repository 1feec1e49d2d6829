package formattest

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// disk fails after some operations; nil never fails. Verification may read from several goroutines.
type disk struct{ left atomic.Int64 }

func (d *disk) fails() bool { return d != nil && d.left.Add(-1) < 0 }

var errDisk = errors.New("the disk is on fire")

// eachFailure makes each operation on a disk fail in turn: f must return that error.
func (x *subject) eachFailure(t *testing.T, f func(*disk) error) {
	for n := 0; ; n++ {
		d := &disk{}
		d.left.Store(int64(n))
		err := f(d)
		if d.left.Load() >= 0 { // no operation failed
			if err != nil {
				t.Errorf("without a failure: %v", err)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("operation %d fails: %v", n, err)
		}
		if n > 100 {
			n += n / 4
		}
	}
}

// brokenDisk checks that the error of any failing read reaches the caller.
func (x *subject) brokenDisk(t *testing.T) {
	x.eachFailure(t, func(d *disk) error {
		m, err := format.OpenReaderAt(&failing{x.file, d}, int64(len(x.file)), x.s.Options.With(x.cfg.Format))
		if err != nil {
			return err
		}
		defer m.Close()
		if _, err := x.take(m); err != nil {
			return err
		}
		return x.verified(m, nil)
	})
}

// failing is a file on a failing disk. It may have fewer bytes than its claimed size.
type failing struct {
	b []byte
	*disk
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if f.fails() || off < 0 || off >= int64(len(f.b)) {
		return 0, errDisk
	}
	if n := copy(p, f.b[off:]); n < len(p) {
		return n, errDisk
	}
	return len(p), nil
}

// failingReader reads a tensor from a failing disk.
type failingReader struct {
	io.Reader
	*disk
}

func (f *failingReader) Read(p []byte) (int, error) {
	if f.fails() {
		return 0, errDisk
	}
	return f.Reader.Read(p[:min(len(p), 100)])
}
