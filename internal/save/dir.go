package save

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

// directory writes one file per tensor into a temporary directory next to the final path.
type directory struct {
	layout *driver.Layout
	sync   bool
	final  string
	temp   string
	old    fs.FileInfo // the empty directory to replace; nil if none
}

// createDirectory starts a directory. Its path must not exist or be an empty directory. It first
// removes what killed writers left, as far as it holds only files of this format.
func (w *Writer) createDirectory() error {
	l := w.layout
	if n := len(l.Files); n == 0 || n != len(l.Parts) || n != len(w.plan.Tensors) {
		return fmt.Errorf("%w: the layout has %d files and %d parts for %d tensors", plan.ErrPlan, n, len(l.Parts), len(w.plan.Tensors))
	}
	abs, err := filepath.Abs(w.o.Path)
	if err == nil {
		abs, err = Resolve(abs)
	}
	if err != nil {
		return err
	}
	old, err := emptyDir(abs)
	if err != nil {
		return err
	}
	ext := w.driver.Describe().Extensions[0]
	sweep(abs, fs.ModeDir, func(dir string) error { return removeDir(dir, ext) })
	mode := fs.FileMode(0o777)
	if old != nil {
		mode = 0o700 // Finish sets the old directory's permissions
	}
	temp := temporary(abs)
	if err := mkdir(temp, mode); err != nil {
		return err
	}
	w.enc = &directory{layout: l, sync: !w.o.NoSync, final: abs, temp: temp, old: old}
	return nil
}

// emptyDir returns the FileInfo of the empty directory at path, or nil if path does not exist.
func emptyDir(path string) (fs.FileInfo, error) {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(entries) > 0:
		return nil, fmt.Errorf("%w: the directory is not empty, it has %q: write to a new one", fs.ErrExist, entries[0].Name())
	}
	return os.Stat(path)
}

// Tensor implements driver.Encoder. It fails if the file system treats two of the file names as one.
func (d *directory) Tensor(i int, in driver.Input) error {
	h, err := create(filepath.Join(d.temp, d.layout.Files[i]), 0o666)
	if err != nil {
		return err
	}
	defer h.close() // does nothing after finish
	head := d.layout.Parts[i].Bytes
	if _, err := h.WriteAt(head, 0); err != nil {
		return err
	}
	if err := in.CopyTo(h, int64(len(head)), nil); err != nil {
		return err
	}
	return h.finish(d.sync)
}

// Finish renames the directory to its final name.
func (d *directory) Finish() error {
	if f, err := os.Open(d.temp); err == nil {
		inherit(f, d.old)
		_ = f.Close()
	}
	if d.sync {
		if err := SyncDir(d.temp); err != nil {
			return err
		}
	}
	if d.old != nil {
		if err := Remove(d.final); err != nil {
			return err
		}
	}
	err := rename(d.temp, d.final)
	if err != nil && d.old != nil {
		err = errors.Join(err, mkdir(d.final, d.old.Mode().Perm()))
	}
	if err == nil && d.sync {
		err = durably(filepath.Dir(d.final))
	}
	return err
}

// Close implements io.Closer. It removes the directory, which no longer exists if it was renamed.
func (d *directory) Close() error { return removeDir(d.temp, "") }

// removeDir removes a directory if the names of its files all end in ext. It stops at the first that it
// cannot remove.
func removeDir(name, ext string) error {
	entries, err := os.ReadDir(name)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), ext) }) {
		return fs.ErrExist
	}
	for _, e := range entries {
		if err == nil {
			err = Remove(filepath.Join(name, e.Name()))
		}
	}
	if err == nil {
		err = Remove(name)
	}
	return err
}
