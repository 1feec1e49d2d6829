package format

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/tensor"
)

// dirEncoder writes one file per tensor into a directory.
type dirEncoder struct {
	layout *driver.Layout
	tree   *disk.Tree
}

// createDirectory starts a directory.
func (w *Writer) createDirectory() error {
	l := w.layout
	n := len(l.Files)
	if n == 0 || n != len(l.Parts) || n != len(w.schema.Tensors) {
		return fmt.Errorf("%w: the layout has %d files and %d parts for %d tensors", tensor.ErrSchema, n, len(l.Parts), len(w.schema.Tensors))
	}
	tree, err := disk.CreateTree(w.path, w.driver.Describe().Extensions[0])
	if err != nil {
		return err
	}
	tree.NoSync = w.o.NoSync
	w.enc = &dirEncoder{layout: l, tree: tree}
	return nil
}

// Tensor implements driver.Encoder.
func (d *dirEncoder) Tensor(i int, in driver.Input) error {
	f, err := d.tree.Create(d.layout.Files[i])
	if err != nil {
		return err
	}
	if err := d.write(f, i, in); err != nil {
		f.Abort()
		return err
	}
	return f.Complete()
}

func (d *dirEncoder) write(f *disk.File, i int, in driver.Input) error {
	head := d.layout.Parts[i].Bytes
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	return in.CopyTo(f, int64(len(head)), nil)
}

// Finish renames the directory to its final name.
func (d *dirEncoder) Finish() error { return d.tree.Publish() }

// Close implements io.Closer. It removes the directory, unless it is in place.
func (d *dirEncoder) Close() error {
	d.tree.Abort()
	return nil
}
