package save

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
)

// directory writes one file per tensor into a temporary directory next to the final path.
type directory struct {
	layout *driver.Layout
	sync   bool
	final  string
	temp   string      // "" after the rename to final
	held   *os.File    // holds the lock on temp; nil if it is not locked
	old    fs.FileInfo // the empty directory to replace; nil if none
}

// createDirectory starts a directory. Its path must not exist or be an empty directory. It first
// removes what killed writers left, as far as it holds only files of this format.
func (w *Writer) createDirectory() error {
	d := &directory{layout: w.layout, sync: !w.o.NoSync}
	if n := len(w.layout.Files); n == 0 || n != len(w.layout.Parts) || n != len(w.plan.Tensors) {
		return fmt.Errorf("%w: the layout has %d files and %d parts for %d tensors", driver.ErrPlan, n, len(w.layout.Parts), len(w.plan.Tensors))
	}
	abs, err := filepath.Abs(w.o.Path)
	if err == nil {
		d.final, err = Resolve(abs)
	}
	if err == nil {
		d.old, err = emptyDir(d.final)
	}
	if err == nil {
		err = d.create(w.driver.Describe().Extensions[0])
	}
	if err == nil {
		w.enc = d
	}
	return err
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

func (d *directory) create(ext string) (err error) {
	parent, base := filepath.Dir(d.final), filepath.Base(d.final)
	sweep(parent, base, true, func(dir string) error { return removeDir(dir, ext) })
	mode := fs.FileMode(0o777)
	if d.old != nil {
		mode = 0o700 // Finish sets the old directory's permissions
	}
	d.held, err = temporary(parent, base, func(name string) error {
		d.temp = name
		return mkdir(name, mode)
	}, Remove)
	return err
}

// Tensor implements driver.Encoder. It fails if the file system treats two of the file names as one.
func (d *directory) Tensor(i int, in driver.Input) error {
	h, err := create(filepath.Join(d.temp, d.layout.Files[i]), newMode(nil))
	if err != nil {
		return err
	}
	filled := false
	defer func() {
		if !filled { // after an error or a panic of the reader
			_ = h.close()
		}
	}()
	head := d.layout.Parts[i].Bytes
	if _, err := h.WriteAt(head, 0); err != nil {
		return err
	}
	if err := in.CopyTo(h, int64(len(head)), nil); err != nil {
		return err
	}
	filled = true
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
	if err := rename(d.temp, d.final); err != nil {
		if d.old != nil {
			err = errors.Join(err, mkdir(d.final, d.old.Mode().Perm()))
		}
		return err
	}
	d.temp = ""
	if d.sync {
		return durably(filepath.Dir(d.final))
	}
	return nil
}

// Close implements io.Closer. It removes the directory if it was not renamed.
func (d *directory) Close() error {
	if d.held != nil {
		defer d.held.Close()
	}
	if d.temp == "" {
		return nil
	}
	return removeDir(d.temp, "")
}

// removeDir removes a directory whose file names all end in ext. It stops at the first name it cannot
// remove.
func removeDir(name, ext string) error {
	entries, err := os.ReadDir(name)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ext) {
			return fmt.Errorf("%w: %q in %s", fs.ErrExist, e.Name(), name)
		}
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
