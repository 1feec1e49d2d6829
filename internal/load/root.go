package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// open returns the directory, which is kept open while parsing.
func (s *spaces) open() (root *os.Root, err error) {
	switch {
	case s.frozen:
		return nil, errFrozen
	case s.dir == "":
		return nil, errNoDir
	case s.root == nil:
		s.root, err = openRoot(s.dir)
	}
	return s.root, err
}

// openRoot opens a directory.
func openRoot(dir string) (*os.Root, error) { return os.OpenRoot(itself(dir)) }

// itself returns a path that only a directory can have, so that opening it cannot block on
// a pipe that has replaced the directory.
func itself(dir string) string { return dir + string(filepath.Separator) + "." }

var errIrregular = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)

var errOutside = fmt.Errorf("%w: it leads out of the directory of the model; Options.Root names one that files may be in", driver.ErrUnsupported)

// openBelow opens a regular file of the model below its directory, which root is open on, or where a link
// leads. It does not block on a pipe.
func (s *spaces) openBelow(root *os.Root, name string) (f *os.File, info os.FileInfo, err error) {
	f, err = root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|source.NoWait, 0)
	if escapes(err) {
		switch {
		case !fs.ValidPath(name):
			err = fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
		case elsewhere == nil:
			err = errOutside
		default:
			f, err = elsewhere(s, name)
		}
	}
	if err == nil {
		info, err = f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = errIrregular
		}
	}
	if err != nil {
		f.Close() // which may be nil
		return nil, nil, linked(err, s.dir, name)
	}
	return f, info, nil
}

// stat returns the FileInfo of a regular file of the model.
func (s *spaces) stat(name string) (os.FileInfo, error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	f, info, err := s.openBelow(root, name)
	f.Close() // which may be nil
	return info, err
}

// mapBelow maps a regular file of the model if check accepts the open file.
func (s *spaces) mapBelow(root *os.Root, name string, o source.Options, check func(os.FileInfo) error) (r *source.Region, err error) {
	f, info, err := s.openBelow(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err = check(info); err == nil {
		r, err = source.OpenFile(f, 0, -1, o)
	}
	if err == nil {
		r.SetOrigin(s.m.desc.Name, s.path(name))
	}
	return r, err
}

// mostPath is longer than the paths of most systems.
const mostPath = 4096

// linked adds to an error where a link in the file's path leads.
func linked(err error, dir, name string) error {
	for i := 1; i <= len(name) && len(name) < mostPath; i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if target, no := os.Readlink(filepath.Join(dir, name[:i])); no == nil {
			return fmt.Errorf("%q is a link to %q: %w", name[:i], target, err)
		}
	}
	return err
}

// escapes reports whether os.Root rejected the path, rather than the system.
func escapes(err error) bool {
	var p *os.PathError
	return errors.As(err, &p) && strings.HasPrefix(p.Err.Error(), "path escapes")
}

// Leave allows links out of the directory of a model: into Config.Root, or to the files of a cache.
func Leave() { elsewhere = (*spaces).leave }

// elsewhere opens a file that a link out of the directory leads to. It is a variable, set by Leave, so that
// programs whose formats do not need it do not link the code.
var elsewhere func(s *spaces, name string) (*os.File, error)

// leave opens a file that a link out of the directory leads to. It looks up the resolved path again below
// the root that it found, so that a link inserted meanwhile has no effect.
func (s *spaces) leave(name string) (*os.File, error) {
	dir, err := physical(s.dir)
	if err != nil {
		return nil, err
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	top, below := cacheOf(dir)
	if root := s.m.c.Options.Root; root != "" {
		if top, err = physical(root); err != nil {
			return nil, fmt.Errorf("Options.Root: %w", err)
		}
		below = ""
	}
	for _, top := range [...]struct{ path, below string }{{dir, ""}, {top, below}} {
		rel, err := filepath.Rel(top.path, file)
		if top.path == "" || err != nil || !filepath.IsLocal(rel) || !strings.HasPrefix(rel, top.below) {
			continue
		}
		root, err := openRoot(top.path)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		f, err := root.OpenFile(rel, os.O_RDONLY|source.NoWait, 0)
		if escapes(err) {
			err = errOutside
		}
		return f, err
	}
	return nil, errOutside
}

// physical returns the absolute path of a directory, without links.
func physical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// cacheOf returns the root of the cache in which dir is a snapshot, ROOT/snapshots/REVISION/...,
// and the prefix of the names below it that links of a snapshot lead to.
func cacheOf(dir string) (root, below string) {
	for {
		parent := filepath.Dir(dir)
		switch {
		case parent == dir:
			return "", ""
		case filepath.Base(parent) == "snapshots":
			return filepath.Dir(parent), "blobs" + string(filepath.Separator)
		}
		dir = parent
	}
}
