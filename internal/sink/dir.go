package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is a directory being assembled next to the path where it is to appear.
type Dir struct {
	final string
	temp  string      // "" once it has its final name
	held  *os.File    // the lock on it, nil without one
	old   fs.FileInfo // the empty directory that it replaces, nil for none
}

// CreateDir starts a directory of files that end in ext. At path there may be nothing, or
// an empty directory. Directories of such files that killed writers left are removed.
func CreateDir(path, ext string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	final, err := Resolve(abs)
	if err != nil {
		return nil, err
	}
	d := &Dir{final: final}
	switch entries, err := os.ReadDir(final); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case len(entries) > 0:
		return nil, fmt.Errorf("%w: the directory is not empty, it has %q: write to a new one", fs.ErrExist, entries[0].Name())
	default:
		if d.old, err = os.Stat(final); err != nil {
			return nil, err
		}
	}
	parent, base := filepath.Dir(final), filepath.Base(final)
	sweep(parent, base, true, func(dir string) error { return removeDir(dir, ext) })
	d.held, err = temporary(parent, base, func(name string) error {
		d.temp = name
		if d.old != nil {
			return mkdir(name, 0o700) // until it has the old one's permissions
		}
		return mkdir(name, 0o777)
	}, Remove)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Write makes a file of the directory and has fill write it. With sync it is on stable
// storage by then. A file system that takes two names for one shows here.
func (d *Dir) Write(name string, sync bool, fill func(t Target) error) error {
	h, err := create(filepath.Join(d.temp, name), newMode(nil))
	if err != nil {
		return err
	}
	filled := false
	defer func() {
		if !filled { // with an error, or fill panicked
			_ = h.close()
		}
	}()
	if err := fill(h); err != nil {
		return err
	}
	filled = true
	return h.finish(sync)
}

// Commit gives the directory its name. Errors are as for File.Commit, but Abort must
// follow in any case.
func (d *Dir) Commit(sync bool) error {
	if f, err := os.Open(d.temp); err == nil {
		inherit(f, d.old)
		_ = f.Close()
	}
	if sync {
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
	if sync {
		return durably(filepath.Dir(d.final))
	}
	return nil
}

// Abort removes what was not put in place.
func (d *Dir) Abort() error {
	if d.held != nil {
		defer d.held.Close()
	}
	if d.temp == "" {
		return nil
	}
	return removeDir(d.temp, "")
}

// removeDir removes a directory in which all names end in ext. It stops at what it cannot remove.
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
