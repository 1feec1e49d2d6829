package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/internal/cause"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// open returns the directory, which is kept open while parsing.
func (s *spaces) open() (*os.Root, error) {
	if s.dir == "" {
		return nil, errNoDir
	}
	if s.root == nil {
		root, err := openRoot(s.dir)
		if err != nil {
			return nil, err
		}
		s.root = root
	}
	return s.root, nil
}

// openRoot opens a directory.
func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(itself(dir)) }

// itself is a path that cannot be anything but a directory, so that opening it does not
// wait for the other end of a pipe that took the place of one.
func itself(dir string) string { return dir + string(filepath.Separator) + "." }

// stat looks at a file below the directory.
func (s *spaces) stat(name string) (os.FileInfo, error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(filepath.FromSlash(name))
	return info, escapes(err)
}

// escapes marks what os.Root refuses, as opposed to what the system does.
func escapes(err error) error {
	if p, ok := cause.Of[*os.PathError](err); ok && strings.HasPrefix(p.Err.Error(), "path escapes") {
		return fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
	}
	return err
}

// testHookLooked is called between looking at a file and opening it.
var testHookLooked func()

// mapBelow maps a regular file below root, if check agrees with what was opened.
func mapBelow(root *os.Root, name, path string, m *Model, check func(os.FileInfo) error) (*source.Region, error) {
	f, info, err := openBelow(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := check(info); err != nil {
		return nil, err
	}
	r, err := source.OpenFile(f, 0, -1, m.mapping)
	if err != nil {
		return nil, err
	}
	if r.Copied() { // what was copied is what was checked
		if info, err = f.Stat(); err == nil {
			err = check(info)
		}
		if err != nil {
			r.Undo(&m.mapping)
			return nil, err
		}
	}
	r.SetOrigin(m.desc.Name, path)
	return r, nil
}

// openBelow opens a regular file below root. It looks before it opens, since a device may
// notice, and does not wait for the other end of a pipe that took its place in between.
func openBelow(root *os.Root, name string) (*os.File, os.FileInfo, error) {
	local := filepath.FromSlash(name)
	info, err := root.Stat(local)
	if err != nil {
		return nil, nil, escapes(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
	}
	if testHookLooked != nil {
		testHookLooked()
	}
	f, err := root.OpenFile(local, os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		return nil, nil, escapes(err)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
