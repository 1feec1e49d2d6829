package signing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// tree lists the files of a model: a directory, or one file.
type tree struct {
	path   string   // as the caller gave it
	root   *os.Root // nil for a model of one file
	base   string   // base name of the model
	links  bool     // follow symbolic links
	ignore []string
	bundle os.FileInfo // of the signature; nil if it does not exist
	files  []found     // sorted by name
}

// found is a file of the model.
type found struct {
	name string
	info os.FileInfo
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
		t.files = []found{{t.base, info}}
		return t, nil
	case !info.IsDir():
		return nil, refuse(root, driver.ErrUnsupported, "it is neither a file nor a directory")
	}
	if t.root, err = os.OpenRoot(root); err != nil {
		return nil, err
	}
	t.bundle, _ = os.Stat(bundle)
	if err = t.list(".", []os.FileInfo{info}); err != nil {
		t.close()
		return nil, err
	}
	slices.SortFunc(t.files, func(a, b found) int { return strings.Compare(a.name, b.name) })
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
	link, look := e.Type()&fs.ModeSymlink != 0, t.root.Lstat
	if t.links {
		look = t.root.Stat
	}
	info, err := look(filepath.FromSlash(name))
	isAbove := func(dir os.FileInfo) bool { return os.SameFile(dir, info) }
	switch {
	case err == nil && os.SameFile(t.bundle, info):
	case link && !t.links:
		return refuse(t.full(name), driver.ErrSignature, "a symbolic link, which the signature does not allow")
	case err != nil && link && !errors.Is(err, fs.ErrNotExist):
		return refuse(t.full(name), driver.ErrUnsupported, "a link that leaves the model: %w", err)
	case err != nil:
		return err
	case !utf8.ValidString(name):
		return refuse(t.full(name), driver.ErrUnsupported, "its name is not UTF-8")
	case info.Mode().IsRegular():
		t.files = append(t.files, found{name, info})
	case !info.IsDir():
		return refuse(t.full(name), driver.ErrUnsupported, "it is neither a file nor a directory")
	case slices.ContainsFunc(above, isAbove):
		return refuse(t.full(name), driver.ErrUnsupported, "a link that leads back to a directory above it")
	default:
		return t.list(name, append(slices.Clip(above), info))
	}
	return nil
}

// open opens a listed file, unless it was replaced since.
func (t *tree) open(f *found) (*os.File, error) {
	name, open := t.path, os.OpenFile
	if t.root != nil {
		name, open = filepath.FromSlash(f.name), t.root.OpenFile
	}
	file, err := open(name, os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, f.info) || info.Size() != f.info.Size()) {
		err = refuse(t.full(f.name), tensor.ErrCorrupt, "it changed while it was read")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
