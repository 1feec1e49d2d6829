package signing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// file is a file of a tree.
type file struct {
	name string // relative to the root
	path string // for errors
	size int64
	feed func(w io.Writer, off, size int64) error // writes a range to w
}

// tree lists the files of a model: a directory, or one file.
type tree struct {
	path   string   // as the caller gave it
	root   *os.Root // nil for a model of one file
	open   func(local string, flag int, mode os.FileMode) (*os.File, error)
	base   string // base name of the model
	links  bool   // follow symbolic links
	ignore []string
	bundle os.FileInfo // of the signature; nil if it does not exist
	files  []file
}

// openTree lists the files of the model at root. The file at the path bundle is not part of it.
func openTree(root string, links bool, ignore []string, bundle string) (*tree, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	t := &tree{path: root, base: filepath.Base(abs), links: links, ignore: ignore}
	switch {
	case info.Mode().IsRegular():
		t.open = os.OpenFile
		t.add(t.base, root, info)
		return t, nil
	case !info.IsDir():
		return nil, refuse(root, tensor.ErrUnsupported, "it is neither a file nor a directory")
	}
	if t.root, err = os.OpenRoot(root); err != nil {
		return nil, err
	}
	t.open = t.root.OpenFile
	t.bundle, _ = os.Stat(bundle)
	if err = t.list(".", []os.FileInfo{info}); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tree) close() {
	if t.root != nil {
		t.root.Close()
	}
}

// full returns the path of a file for errors.
func (t *tree) full(name string) string {
	if t.root == nil {
		return t.path
	}
	return filepath.Join(t.path, filepath.FromSlash(name))
}

// refuse returns an error about a file.
func refuse(path string, sentinel error, text string, args ...any) error {
	return &tensor.Error{Path: path, Offset: -1, Err: fmt.Errorf("%w: %w", sentinel, fmt.Errorf(text, args...))}
}

// list adds the files below dir. above holds the directories from the root down to dir.
func (t *tree) list(dir string, above []os.FileInfo) error {
	entries, err := fs.ReadDir(t.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if slices.Contains(defaults, name) || slices.Contains(t.ignore, name) {
			continue
		}
		if err := t.entry(name, e, above); err != nil {
			return err
		}
	}
	return nil
}

// entry adds one entry of a directory.
func (t *tree) entry(name string, e fs.DirEntry, above []os.FileInfo) error {
	path := t.full(name)
	local := filepath.FromSlash(name)
	link := e.Type()&fs.ModeSymlink != 0
	look := t.root.Lstat
	if t.links {
		look = t.root.Stat
	}
	info, err := look(local)
	isAbove := func(dir os.FileInfo) bool { return os.SameFile(dir, info) }
	switch {
	case err == nil && os.SameFile(t.bundle, info):
	case link && !t.links:
		return refuse(path, tensor.ErrSignature, "a symbolic link, which the signature does not allow")
	case err != nil && link && !errors.Is(err, fs.ErrNotExist):
		return refuse(path, tensor.ErrUnsupported, "a link that leaves the model: %w", err)
	case err != nil:
		return err
	case !utf8.ValidString(name):
		return refuse(path, tensor.ErrUnsupported, "its name is not UTF-8")
	case info.Mode().IsRegular():
		t.add(name, local, info)
	case !info.IsDir():
		return refuse(path, tensor.ErrUnsupported, "it is neither a file nor a directory")
	case slices.ContainsFunc(above, isAbove):
		return refuse(path, tensor.ErrUnsupported, "a link that leads back to a directory above it")
	default:
		return t.list(name, append(slices.Clip(above), info))
	}
	return nil
}

// add adds a regular file, which is opened to hash it, unless it was replaced since.
func (t *tree) add(name, local string, info os.FileInfo) {
	path := t.full(name)
	feed := func(w io.Writer, off, size int64) error {
		f, err := t.open(local, os.O_RDONLY|source.NoWait, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		now, err := f.Stat()
		if err == nil && (!os.SameFile(now, info) || now.Size() != info.Size()) {
			err = refuse(path, tensor.ErrCorrupt, "it changed while it was read")
		}
		if err != nil {
			return err
		}
		n, err := io.Copy(w, io.NewSectionReader(f, off, size))
		if err == nil && n < size {
			err = refuse(path, tensor.ErrTruncated, "it became shorter while it was read")
		}
		return err
	}
	t.files = append(t.files, file{name: name, path: path, size: info.Size(), feed: feed})
}
