package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// The rule of links. Each element of a name is examined. A link is followed if its target is in the
// directory of the model, or in the one other directory where links may lead: Options.Root, or the
// blobs of the cache that the directory is a snapshot of.

const (
	mostLinks = 40   // that a name may lead through, as on Linux
	mostPath  = 4096 // bytes of a name or a target, more than most systems take
)

var (
	errOutside   = fmt.Errorf("%w: it leads out of the directory of the model; Options.Root names one that files may be in", tensor.ErrUnsupported)
	errOutsideFS = fmt.Errorf("%w: it leads out of the file system; open the model by its path, or in the file system of a directory that has the target too, such as the repository of a cache (os.OpenRoot, os.Root.FS)", tensor.ErrUnsupported)
	errLoop      = fmt.Errorf("%w: a loop, or a chain of more than %d links", tensor.ErrUnsupported, mostLinks)
	errLong      = fmt.Errorf("%w: a name of more than %d bytes", tensor.ErrUnsupported, mostPath)
	errName      = fmt.Errorf("%w: %w name of a file", tensor.ErrCorrupt, fs.ErrInvalid)
	errNoDir     = fmt.Errorf("%w: an element of the path is not a directory", tensor.ErrCorrupt)
	errIrregular = fmt.Errorf("%w: %w", tensor.ErrCorrupt, source.ErrNotRegular)
)

// errLeaves means that a target lies outside of the file system that is examined.
var errLeaves = errors.New("the target is outside of the file system")

// linkReader is what following links needs of a file system. fs.ReadLinkFS has it.
type linkReader interface {
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
}

// host is the file system of the host. Names are absolute and have slashes.
type host struct{}

// Lstat implements linkReader.
func (host) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(filepath.FromSlash(name)) }

// ReadLink implements linkReader.
func (host) ReadLink(name string) (string, error) { return os.Readlink(filepath.FromSlash(name)) }

// link is a symbolic link and its target.
type link struct{ name, target string }

// walk follows the links of a name.
type walk struct {
	tree        linkReader
	top         string      // what a name of the tree begins with: "" for an fs.FS, "/" or "C:/" for the host
	at          string      // where the walk is, a path without links
	info        fs.FileInfo // of at, nil for the directory where the walk began and those above
	links       int
	first, last link
}

// follow goes from where the walk is to a name. It returns errLeaves for a link out of the tree.
func (w *walk) follow(name string) error {
	for rest := name; rest != ""; {
		var element string
		element, rest, _ = strings.Cut(rest, "/")
		if element == "" || element == "." || element == ".." {
			if w.info != nil && !w.info.IsDir() {
				return errNoDir
			}
			if element == ".." {
				if err := w.climb(); err != nil {
					return err
				}
			}
			continue
		}
		next := join(w.at, element)
		info, err := w.tree.Lstat(next)
		if err != nil {
			return asOpening(err, next)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			w.at = next
			w.info = info
			continue
		}
		target, err := w.target(next)
		if err != nil {
			return err
		}
		if rest != "" {
			target += "/" + rest
		}
		rest = target
	}
	return nil
}

// asOpening returns the error of looking at a file as one of opening it.
func asOpening(err error, name string) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &fs.PathError{Op: "open", Path: name, Err: err}
}

// climb goes to the directory above.
func (w *walk) climb() error {
	if w.at == "" {
		return errLeaves
	}
	w.at = above(w.at, w.top)
	w.info = nil
	return nil
}

// target reads a link and returns its target, relative to where the walk is then.
func (w *walk) target(name string) (string, error) {
	target, err := w.tree.ReadLink(name)
	if err != nil {
		return "", err
	}
	w.last = link{name, target}
	if w.links == 0 {
		w.first = w.last
	}
	w.links++
	if w.links > mostLinks {
		return "", errLoop
	}
	if len(target) > mostPath {
		return "", errLong
	}
	volume := filepath.VolumeName(target)
	target = filepath.ToSlash(target)
	isRooted := strings.HasPrefix(target[len(volume):], "/")
	switch {
	case volume == "" && !isRooted:
		return target, nil
	case w.top == "":
		return "", errLeaves
	case !filepath.IsAbs(filepath.FromSlash(target)): // on Windows: "C:name" or "/name"
		return "", errOutside
	}
	w.top = target[:len(volume)] + "/"
	w.at = w.top
	w.info = nil
	return target[len(w.top):], nil
}

// explain adds to an error where the links of a name lead. strip is the directory that their names
// begin with.
func (w *walk) explain(err error, strip string) error {
	if err == nil || w.links == 0 {
		return err
	}
	if w.last != w.first {
		err = w.last.explain(err, strip)
	}
	return w.first.explain(err, strip)
}

func (l link) explain(err error, strip string) error {
	name := l.name
	if below, ok := within(strip, name); ok {
		name = below
	}
	return fmt.Errorf("%q is a link to %q: %w", name, l.target, err)
}

// join returns the path of an element of a directory.
func join(dir, element string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + element
	}
	return dir + "/" + element
}

// above returns the directory above at, which is top if there is none.
func above(at, top string) string {
	i := strings.LastIndexByte(at, '/')
	if i < len(top) {
		return top
	}
	return at[:i]
}

// within reports whether a path without links is that of a directory or of something in it, and
// returns the name below the directory, "." for the directory itself.
func within(dir, name string) (below string, ok bool) {
	if dir == name {
		return ".", true
	}
	return strings.CutPrefix(name, join(dir, ""))
}

// blobsOf returns the directory that links of a snapshot of a cache lead to. dir is a path without
// links in a tree. If it is ROOT/snapshots/REVISION or below, that is ROOT/blobs; if it is no
// snapshot, ok is false.
func blobsOf(dir, top string) (blobs string, ok bool) {
	for dir != top {
		parent := above(dir, top)
		if parent != top && strings.TrimPrefix(parent[len(above(parent, top)):], "/") == "snapshots" {
			return join(above(parent, top), "blobs"), true
		}
		dir = parent
	}
	return "", false
}

// checkName returns an error for a name that no file of a model has, such as one with "..".
func checkName(name string) error {
	if len(name) > mostPath {
		return errLong
	}
	if name == "" || strings.HasPrefix(name, "/") || strings.IndexByte(name, 0) >= 0 || !filepath.IsLocal(filepath.FromSlash(name)) {
		return errName
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == ".." {
			return errName
		}
	}
	return nil
}
