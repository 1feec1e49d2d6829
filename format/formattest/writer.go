package formattest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

// old is the content of the file that a failing writer was to replace.
var old = []byte("the old file")

// untouched checks that a failed writer left only the old file.
func (x *subject) untouched(t *testing.T, path string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, old) {
		t.Errorf("the old file did not survive: %d bytes, %v", len(b), err)
	}
	if left := listing(t, filepath.Dir(path), filepath.Base(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// diskErrors checks that the writer fails if any write or the reader of a tensor fails.
func (x *subject) diskErrors(t *testing.T) {
	x.brokenTarget(t)
	for _, p := range x.s.Plan.Tensors {
		path := x.stored(t, old)
		w, err := x.writer.Create(path, x.s.Plan, x.options(nil))
		if err != nil {
			t.Fatal(err)
		}
		half := x.data[p.Name][:len(x.data[p.Name])/2]
		if err := w.WriteTensor(p.Name, io.MultiReader(bytes.NewReader(half), iotest.ErrReader(errDisk))); !errors.Is(err, errDisk) {
			t.Errorf("the reader of tensor %q fails after %d bytes: the writer returns %v", p.Name, len(half), err)
		}
		w.Abort()
		x.untouched(t, path)
	}
}

// brokenTarget makes each operation of an Encoder fail in turn.
func (x *subject) brokenTarget(t *testing.T) {
	for n := 0; ; n++ {
		left := n
		c := format.With(fragileDriver{x.writer.Driver(), &left})
		path := x.stored(t, old)
		err := x.writeFile(c, path)
		if left >= 0 {
			// No operation failed.
			if err != nil {
				t.Errorf("without a failure: %v", err)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("write %d fails: the writer returns %v", n, err)
		}
		x.untouched(t, path)
		if t.Failed() {
			return
		}
		if n > 40 {
			n += n / 4
		}
	}
}

// fragileDriver is a driver that writes to a failing disk.
type fragileDriver struct {
	driver.Driver
	left *int
}

// Layout implements driver.Layouter.
func (d fragileDriver) Layout(p *plan.Plan, o *plan.WriteOptions) (*driver.Layout, error) {
	l, err := d.Driver.(driver.Layouter).Layout(p, o)
	if err == nil && l.Encode != nil {
		encode := l.Encode
		l.Encode = func(t driver.Target) (driver.Encoder, error) { return encode(&fragile{t, d.left}) }
	}
	return l, err
}

// writeFile writes the sample to path and returns the first error.
func (x *subject) writeFile(c format.Codec, path string) error {
	w, err := c.Create(path, x.s.Plan, x.options(nil))
	if err != nil {
		return err
	}
	return x.feed(w, nil)
}

// fragile is a target that fails after some operations.
type fragile struct {
	driver.Target
	left *int
}

func (f *fragile) fails() bool { *f.left--; return *f.left < 0 }

func (f *fragile) WriteAt(p []byte, off int64) (int, error) {
	if f.fails() {
		n, _ := f.Target.WriteAt(p[:len(p)/2], off)
		return n, errDisk
	}
	return f.Target.WriteAt(p, off)
}

func (f *fragile) ReadAt(p []byte, off int64) (int, error) {
	if f.fails() {
		return 0, errDisk
	}
	return f.Target.ReadAt(p, off)
}

func (f *fragile) Truncate(size int64) error {
	if f.fails() {
		return errDisk
	}
	return f.Target.Truncate(size)
}
