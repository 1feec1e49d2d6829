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
	files  []found // sorted by name
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
	t := &tree{path: root, base: filepath.Base(abs), links: links, ignore: ignore}
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, at(root, fmt.Errorf("%w: it is neither a file nor a directory", driver.ErrUnsupported))
		}
		t.files = []found{{t.base, info}}
		return t, nil
	}
	if t.root, err = os.OpenRoot(root); err != nil {
		return nil, err
	}
	t.ignore = slices.Concat(defaults, ignore)
	if err = t.list(".", []os.FileInfo{info}, bundleInfo(bundle)); err != nil {
		t.close()
		return nil, err
	}
	slices.SortFunc(t.files, func(a, b found) int { return strings.Compare(a.name, b.name) })
	return t, nil
}

// bundleInfo returns the FileInfo of the bundle, or nil if it does not exist.
func bundleInfo(path string) os.FileInfo {
	if path == "" {
		return nil
	}
	info, _ := os.Stat(path)
	return info
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
func (t *tree) refuse(name string, sentinel error, text string, args ...any) error {
	return &tensor.Error{Path: t.full(name), Offset: -1, Err: fmt.Errorf("%w: "+text, append([]any{sentinel}, args...)...)}
}

// list adds the files below dir. above holds the directories from the root down to dir.
func (t *tree) list(dir string, above []os.FileInfo, bundle os.FileInfo) error {
	f, err := t.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if slices.Contains(t.ignore, name) {
			continue
		}
		if err := t.entry(name, e.Type()&fs.ModeSymlink != 0, above, bundle); err != nil {
			return err
		}
	}
	return nil
}

// entry adds one entry of a directory.
func (t *tree) entry(name string, link bool, above []os.FileInfo, bundle os.FileInfo) error {
	info, err := t.look(name)
	if bundle != nil && info != nil && os.SameFile(info, bundle) {
		return nil
	}
	if link && !t.links {
		return t.refuse(name, driver.ErrSignature, "a symbolic link, which the signature does not allow")
	}
	switch {
	case err != nil && link && !errors.Is(err, fs.ErrNotExist):
		return t.refuse(name, driver.ErrUnsupported, "a link that leaves the model: %w", err)
	case err != nil:
		return err
	case !utf8.ValidString(name):
		return t.refuse(name, driver.ErrUnsupported, "its name is not UTF-8")
	case info.Mode().IsRegular():
		t.files = append(t.files, found{name, info})
		return nil
	case !info.IsDir():
		return t.refuse(name, driver.ErrUnsupported, "it is neither a file nor a directory")
	}
	for _, a := range above {
		if os.SameFile(a, info) {
			return t.refuse(name, driver.ErrUnsupported, "a link that leads back to a directory above it")
		}
	}
	return t.list(name, append(slices.Clip(above), info), bundle)
}

// look returns the FileInfo of name. It follows links if t.links is set.
func (t *tree) look(name string) (os.FileInfo, error) {
	if t.links {
		return t.root.Stat(filepath.FromSlash(name))
	}
	return t.root.Lstat(filepath.FromSlash(name))
}

// open opens a listed file, unless it was replaced since.
func (t *tree) open(f *found) (*os.File, error) {
	var file *os.File
	var err error
	if t.root == nil {
		file, err = os.OpenFile(t.path, os.O_RDONLY|source.NoWait, 0)
	} else {
		file, err = t.root.OpenFile(filepath.FromSlash(f.name), os.O_RDONLY|source.NoWait, 0)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, f.info) || info.Size() != f.info.Size()) {
		err = t.refuse(f.name, tensor.ErrCorrupt, "it changed while it was read")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
