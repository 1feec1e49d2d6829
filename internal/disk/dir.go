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

// Entry is a file of a directory.
type Entry struct {
	Name    string
	Regular bool  // a regular file, or a link to one
	Dir     bool  // a directory
	Err     error // of a link that cannot be followed
}

// Dir is the directory of the files of a model. Nothing else opens a file of a model by its name.
// The directory is opened when it is first used. A Dir is not safe for concurrent use.
type Dir struct {
	path string     // as the caller gave it
	abs  string     // the absolute path, "" until Settle
	also string     // another directory where links may lead, "" for none
	own  *directory // of path; nil until the first use
	root *os.Root   // of path, for links; nil until the first use
	out  *outside   // nil until a link leads out of path
}

// outside is what is needed to follow links that lead out of a directory.
type outside struct {
	own, top string // the path of the directory, without links and with slashes, and what it begins with
	also     *area  // where links may lead, nil for nowhere
	alsoErr  error  // why also cannot be opened
}

// area is a directory in which files of a model may be.
type area struct {
	path string // without links, with slashes
	root *os.Root
}

// OpenDir returns the directory at a path. root is another directory where links may lead. If it is
// "" that is the directory of blobs if path is a snapshot of a cache.
func OpenDir(path, root string) *Dir { return &Dir{path: path, also: root} }

// Path returns the path of a file for messages.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// Settle prepares for the use of the directory after the program may have changed its working
// directory.
func (d *Dir) Settle() {
	if d.abs != "" {
		return
	}
	abs, err := filepath.Abs(d.path)
	if err == nil {
		d.abs = abs
	}
}

// Close releases the directory. It may be used again, and is then opened again.
func (d *Dir) Close() {
	if d.own != nil {
		d.own.close()
	}
	if d.root != nil {
		d.root.Close()
	}
	if d.out != nil && d.out.also != nil {
		d.out.also.root.Close()
	}
	d.own = nil
	d.root = nil
	d.out = nil
	if d.abs != "" {
		d.path = d.abs
	}
}

// open opens the directory unless it is open.
func (d *Dir) open() (*directory, error) {
	if d.own != nil {
		return d.own, nil
	}
	own, err := openDirectory(itself(d.path))
	if err != nil {
		return nil, err
	}
	d.own = own
	return own, nil
}

// openRoot opens the directory for links unless it is open.
func (d *Dir) openRoot() (*os.Root, error) {
	if d.root != nil {
		return d.root, nil
	}
	own, err := d.open()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(itself(d.path))
	if err != nil {
		return nil, err
	}
	if !own.isSame(root) {
		root.Close()
		return nil, tensor.ErrChanged
	}
	d.root = root
	return root, nil
}

// itself returns a path that only a directory can have, so that opening it cannot block on a pipe
// that has replaced the directory.
func itself(dir string) string { return dir + string(filepath.Separator) + "." }

// OpenNoLink opens a regular file in the directory itself that is no link. It does not block on a
// pipe. ok is false for all other names, which Open opens, and on systems without openat(2).
func (d *Dir) OpenNoLink(name string) (f *source.File, ok bool) {
	if checkName(name) != nil {
		return nil, false
	}
	own, err := d.open()
	if err != nil {
		return nil, false
	}
	return own.openNoLink(name, d.Path(name))
}

// Open opens a regular file. It does not block on a pipe.
func (d *Dir) Open(name string) (fs.File, fs.FileInfo, error) {
	f, info, ok := d.openInside(name)
	if ok {
		return f, info, nil
	}
	root, w, err := d.find(name)
	if err != nil {
		return nil, nil, err
	}
	f, info, err = openIn(root, w.at)
	if err != nil {
		return nil, nil, d.explain(w, err)
	}
	return f, info, nil
}

// openInside opens a regular file, which links lead to that do not leave the directory, without
// examining each element: an os.Root follows no others. ok is false for all other names, of which
// find knows what to do or what is wrong. On a system where that would block on a pipe it is false
// for all names.
func (d *Dir) openInside(name string) (f *os.File, info fs.FileInfo, ok bool) {
	if source.NoWait == 0 || strings.HasSuffix(name, "/") || checkName(name) != nil {
		return nil, nil, false
	}
	root, err := d.openRoot()
	if err != nil {
		return nil, nil, false
	}
	f, info, err = openIn(root, name)
	return f, info, err == nil
}

// Stat returns the status of the regular file that Open would open.
func (d *Dir) Stat(name string) (fs.FileInfo, error) {
	_, w, err := d.find(name)
	if err == nil {
		return w.info, nil
	}
	// Following links takes a descriptor, which the process may not have.
	if d.own != nil && d.root == nil && checkName(name) == nil && !strings.Contains(name, "/") {
		info, err := os.Lstat(d.Path(name))
		if err == nil && info.Mode().IsRegular() {
			return info, nil
		}
	}
	return nil, err
}

// find follows the links of a name to a regular file, which w.at names in root.
func (d *Dir) find(name string) (root *os.Root, w *walk, err error) {
	err = checkName(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %.200q", err, name)
	}
	root, err = d.openRoot()
	if err != nil {
		return nil, nil, err
	}
	w = &walk{tree: root.FS().(linkReader)}
	err = w.follow(name)
	if err == errLeaves {
		root, w, err = d.findOutside(name)
	}
	if err == nil && (strings.HasSuffix(name, "/") || w.info == nil || !w.info.Mode().IsRegular()) {
		err = errIrregular
	}
	if err != nil {
		return nil, nil, d.explain(w, err)
	}
	return root, w, nil
}

// findOutside is find for a name with a link that leads out of the directory, by absolute paths: it
// refuses the link unless it ends in the directory or where Options.Root allows.
func (d *Dir) findOutside(name string) (*os.Root, *walk, error) {
	out, err := d.lookOutside()
	if err != nil {
		return nil, &walk{}, err
	}
	w := &walk{tree: host{}, top: out.top, at: out.own}
	err = w.follow(name)
	areas := []*area{{out.own, d.root}}
	if out.also != nil {
		areas = append(areas, out.also)
	}
	for _, a := range areas {
		below, ok := within(a.path, w.at)
		if ok {
			w.at = below
			return a.root, w, err
		}
	}
	if out.alsoErr != nil && (err != nil || d.also != "") {
		return nil, w, out.alsoErr
	}
	if err == errLoop || err == errLong {
		return nil, w, err
	}
	return nil, w, errOutside
}

// lookOutside finds out where links may lead out of the directory.
func (d *Dir) lookOutside() (*outside, error) {
	if d.out != nil {
		return d.out, nil
	}
	own, top, err := physical(d.path)
	if err != nil {
		return nil, err
	}
	out := &outside{own: own, top: top}
	out.also, out.alsoErr = d.openAlso(own, top)
	d.out = out
	return out, nil
}

// openAlso opens the directory besides own where links may lead. It returns nil if there is none.
func (d *Dir) openAlso(own, top string) (*area, error) {
	if d.also != "" {
		path, _, err := physical(d.also)
		if err != nil {
			return nil, fmt.Errorf("Options.Root: %w", err)
		}
		return openArea(path)
	}
	blobs, ok := blobsOf(own, top)
	if !ok {
		return nil, nil
	}
	return openArea(blobs)
}

// openArea opens a directory that must not be a link, so that what is in it lies where its path
// says.
func openArea(slashed string) (*area, error) {
	path := filepath.FromSlash(slashed)
	root, err := os.OpenRoot(itself(path))
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	named, err := os.Lstat(path)
	if err != nil {
		root.Close()
		return nil, err
	}
	if !os.SameFile(opened, named) {
		root.Close()
		return nil, errOutside
	}
	return &area{slashed, root}, nil
}

// openIn opens a regular file by its name without links. A link that has taken its place since does
// not lead out of root.
func openIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|source.NoWait, 0)
	if err != nil {
		if escapes(err) {
			err = errOutside
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// escapes reports whether os.Root rejected a path, rather than the system.
func escapes(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && strings.HasPrefix(p.Err.Error(), "path escapes")
}

// explain adds where links lead to an error.
func (d *Dir) explain(w *walk, err error) error {
	if d.out != nil && w.top != "" {
		return w.explain(err, d.out.own)
	}
	return w.explain(err, "")
}

// Entries lists the directory, sorted by name.
func (d *Dir) Entries() ([]Entry, error) {
	list, err := d.list()
	if err != nil {
		return nil, err
	}
	return entries(list, d.Stat), nil
}

func (d *Dir) list() ([]fs.DirEntry, error) {
	own, err := d.open()
	if err != nil {
		return nil, err
	}
	return own.list()
}

// entries returns what a directory lists. stat follows links.
func entries(list []fs.DirEntry, stat func(name string) (fs.FileInfo, error)) []Entry {
	all := make([]Entry, len(list))
	for i, e := range list {
		all[i] = Entry{Name: e.Name(), Regular: e.Type().IsRegular(), Dir: e.IsDir()}
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		_, err := stat(e.Name())
		all[i].Regular = err == nil
		if err != nil && !errors.Is(err, errIrregular) {
			all[i].Err = err
		}
	}
	return all
}

// physical returns the absolute path of a directory, without links and with slashes, and what such
// paths begin with.
func physical(dir string) (path, top string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", err
	}
	volume := filepath.ToSlash(filepath.VolumeName(abs))
	return filepath.ToSlash(abs), volume + "/", nil
}
