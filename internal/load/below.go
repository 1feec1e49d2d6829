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

// itself returns a path that only a directory can have, so that opening it cannot block on
// a pipe that has replaced the directory.
func itself(dir string) string { return dir + string(filepath.Separator) + "." }

// stat returns the FileInfo of a file of the model.
func (s *spaces) stat(name string) (os.FileInfo, error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	at, info, err := s.locate(root, s.dir, name)
	at.close()
	return info, err
}

// location is the place of a file of the model: a name below a root, which may have been opened for it.
type location struct {
	root  *os.Root
	name  string
	other bool
}

func (l *location) close() {
	if l.other {
		l.root.Close()
	}
}

// elsewhere finds a file that a link out of dir leads to. It is a variable, set by Leave, so that
// programs whose formats do not need it do not link the code.
var elsewhere func(s *spaces, dir, name string) (location, os.FileInfo, error)

var errOutside = fmt.Errorf("%w: it leads out of the directory of the model; Options.Root names one that files may be in", driver.ErrUnsupported)

// locate finds a file of the model below dir, which root is open on, or where a link leads.
func (s *spaces) locate(root *os.Root, dir, name string) (location, os.FileInfo, error) {
	at := location{root: root, name: filepath.FromSlash(name)}
	info, err := root.Stat(at.name)
	if escapes(err) {
		switch {
		case !fs.ValidPath(name):
			return at, nil, fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
		case elsewhere == nil:
			err = errOutside
		default:
			at, info, err = elsewhere(s, dir, at.name)
		}
	}
	return at, info, linked(err, dir, name)
}

// mostPath is longer than the paths of most systems.
const mostPath = 4096

// linked adds to an error where a link in the file's path leads.
func linked(err error, dir, name string) error {
	for i := 0; i <= len(name) && len(name) < mostPath && err != nil; i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if target, no := os.Readlink(filepath.Join(dir, name[:i])); no == nil && i > 0 {
			return fmt.Errorf("%q is a link to %q: %w", name[:i], target, err)
		}
	}
	return err
}

// escapes reports whether os.Root rejected the path, rather than the system.
func escapes(err error) bool {
	var p *os.PathError
	ok := errors.As(err, &p)
	return ok && strings.HasPrefix(p.Err.Error(), "path escapes")
}

// testHookLooked is called between the stat of a file and opening it.
var testHookLooked func()

// mapBelow maps a regular file of the model if check accepts the open file.
func (s *spaces) mapBelow(root *os.Root, dir, name, path string, check func(os.FileInfo) error) (*source.Region, error) {
	f, info, err := s.openBelow(root, dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := check(info); err != nil {
		return nil, err
	}
	r, err := source.OpenFile(f, 0, -1, s.m.mapping)
	if err != nil {
		return nil, err
	}
	r.SetOrigin(s.m.desc.Name, path)
	return r, nil
}

// openBelow opens a regular file of the model. It checks the type first, since opening a device
// may have side effects, and does not block on a pipe that replaces the file in between.
func (s *spaces) openBelow(root *os.Root, dir, name string) (*os.File, os.FileInfo, error) {
	at, info, err := s.locate(root, dir, name)
	defer at.close()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, linked(errIrregular, dir, name)
	}
	if testHookLooked != nil {
		testHookLooked()
	}
	f, err := at.root.OpenFile(at.name, os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		if escapes(err) {
			err = errOutside
		}
		return nil, nil, linked(err, dir, name)
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

var errIrregular = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
