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
		for _, n := range []int{0, len(x.data[p.Name]) / 2, len(x.data[p.Name])} {
			path := x.stored(t, old)
			w, err := x.writer.Create(path, x.s.Plan, x.options(nil))
			if err != nil {
				t.Fatal(err)
			}
			from := io.MultiReader(bytes.NewReader(x.data[p.Name][:n]), iotest.ErrReader(errDisk))
			if err := x.finish(w, p.Name, from); !errors.Is(err, errDisk) {
				t.Errorf("the reader of tensor %q fails after %d bytes: the writer returns %v", p.Name, n, err)
			}
			x.untouched(t, path)
		}
	}
	for n := 0; n < len(x.file); n += max(1, len(x.file)/5) {
		if err := x.writeTo(&brokenPipe{left: n}); !errors.Is(err, errDisk) {
			t.Errorf("an io.Writer that takes %d bytes of %d: the writer returns %v", n, len(x.file), err)
		}
	}
	if len(x.file) > 1 {
		if err := x.writeTo(&brokenPipe{left: len(x.file) - 1}); !errors.Is(err, errDisk) {
			t.Errorf("an io.Writer that fails at the last byte: the writer returns %v", err)
		}
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
func (d fragileDriver) Layout(p *driver.Plan, o *driver.WriteOptions) (*driver.Layout, error) {
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
	return x.finish(w, "", nil)
}

// writeTo writes the sample to an io.Writer and returns the first error.
func (x *subject) writeTo(out io.Writer) error {
	w, err := x.writer.NewWriter(out, x.s.Plan, x.options(nil))
	if err != nil {
		return err
	}
	return x.finish(w, "", nil)
}

// finish writes all tensors, reading the one called name from other.
func (x *subject) finish(w *format.Writer, name string, other io.Reader) error {
	defer w.Abort()
	for _, p := range x.s.Plan.Tensors {
		from := io.Reader(bytes.NewReader(x.data[p.Name]))
		if p.Name == name {
			from = other
		}
		if err := w.WriteTensor(p.Name, from); err != nil {
			return err
		}
	}
	return w.Close()
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

// brokenPipe is an io.Writer that accepts a limited number of bytes.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if len(p) > b.left {
		n := b.left
		b.left = 0
		return n, errDisk
	}
	b.left -= len(p)
	return len(p), nil
}
