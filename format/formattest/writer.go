package formattest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
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

// diskErrors checks that the writer fails if any operation on its file or any read of a tensor
// fails.
func (x *subject) diskErrors(t *testing.T) {
	x.eachFailure(t, func(d *disk) error {
		path := x.stored(t, old)
		err := x.writeFile(&fragileFormat{x.write.Format, d}, path, d)
		if err != nil {
			x.untouched(t, path)
		}
		return err
	})
}

// fragileFormat is a format whose driver writes to a failing disk.
type fragileFormat struct {
	format.Format
	disk *disk
}

// Driver implements format.Format.
func (f *fragileFormat) Driver() driver.Driver {
	return fragileDriver{f.Format.Driver().(driver.Writer), f.disk}
}

// fragileDriver is a driver that writes to a failing disk.
type fragileDriver struct {
	driver.Writer
	disk *disk
}

// Layout implements driver.Writer.
func (d fragileDriver) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	l, err := d.Writer.Layout(p, o)
	if err == nil && l.Encode != nil {
		encode := l.Encode
		l.Encode = func(t driver.Target) (driver.Encoder, error) { return encode(&fragile{t, d.disk}) }
	}
	return l, err
}

// writeFile writes the sample to path, with tensors read from a disk, and returns the first error.
func (x *subject) writeFile(f format.Format, path string, d *disk) error {
	o := x.options(format.SpoolMemory)
	o.Format = f
	w, err := format.Create(path, x.s.Schema, o)
	if err != nil {
		return err
	}
	return x.feed(w, nil, d)
}

// fragile is a target on a failing disk.
type fragile struct {
	driver.Target
	*disk
}

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
