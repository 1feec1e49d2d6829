package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/weightmap/weightmap/internal/source"
)

// FS is the directory of the files of a model in a file system. The rule of links is that of Dir if
// the file system has links (fs.ReadLinkFS); one without them decides itself.
type FS struct {
	fsys fs.FS
	dir  string
	also string // another directory where links may lead, "" for none
}

// OpenFS returns a directory of a file system. root is as for OpenDir, a name in the file system.
func OpenFS(fsys fs.FS, dir, root string) *FS { return &FS{fsys, dir, root} }

// Path returns the name of a file in the file system.
func (d *FS) Path(name string) string { return path.Join(d.dir, name) }

// Settle does nothing.
func (d *FS) Settle() {}

// Close does nothing.
func (d *FS) Close() {}

// OpenNoLink opens no file: Open does.
func (d *FS) OpenNoLink(string) (*source.File, bool) { return nil, false }

// Open opens a regular file. It does not block on a pipe, unless that takes the place of a file at
// the same moment.
func (d *FS) Open(name string) (fs.File, fs.FileInfo, error) {
	target, was, err := d.find(name)
	if err != nil {
		return nil, nil, err
	}
	f, info, err := openInFS(d.fsys, target)
	if err != nil {
		return nil, nil, err
	}
	isKnown := was != nil && os.SameFile(was, was) // it is a file of the host
	if isKnown && !os.SameFile(was, info) {
		f.Close()
		return nil, nil, source.ErrReplaced
	}
	return f, info, nil
}

// OpenNamed opens the regular file that the user has named, wherever links of its name lead.
func OpenNamed(fsys fs.FS, name string) (fs.File, fs.FileInfo, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errIrregular
	}
	return openInFS(fsys, name)
}

// openInFS opens a file, which must be regular.
func openInFS(fsys fs.FS, name string) (fs.File, fs.FileInfo, error) {
	f, err := fsys.Open(name)
	if err != nil {
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

// Stat returns the status of the regular file that Open would open.
func (d *FS) Stat(name string) (fs.FileInfo, error) {
	target, info, err := d.find(name)
	if err != nil || info != nil {
		return info, err
	}
	info, err = fs.Stat(d.fsys, target)
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	return info, err
}

// find follows the links of a name to a regular file. If the file system has no links, the status
// is nil.
func (d *FS) find(name string) (target string, info fs.FileInfo, err error) {
	err = checkName(name)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %.200q", err, name)
	}
	if strings.HasSuffix(name, "/") {
		return "", nil, errIrregular
	}
	tree, ok := d.fsys.(fs.ReadLinkFS)
	if !ok {
		return path.Join(d.dir, name), nil, nil
	}
	own := d.follow(tree, d.dir)
	w := walk{tree: tree, at: own}
	err = w.follow(name)
	switch {
	case err == errLoop || err == errLong:
	case err == errLeaves:
		err = errOutsideFS
	case !d.isAllowed(tree, own, w.at):
		err = errOutside
	case err == nil && (w.info == nil || !w.info.Mode().IsRegular()):
		err = errIrregular
	}
	if err != nil {
		return "", nil, w.explain(err, own)
	}
	return w.at, w.info, nil
}

// isAllowed reports whether links of a directory without links may lead to a target.
func (d *FS) isAllowed(tree linkReader, own, target string) bool {
	_, ok := within(own, target)
	if ok {
		return true
	}
	other, ok := blobsOf(own, "")
	if d.also != "" {
		other = d.follow(tree, d.also)
		ok = true
	}
	if !ok {
		return false
	}
	_, ok = within(other, target)
	return ok
}

// follow follows the links of a directory that the user has named. Where they lead out of the file
// system the directory counts as it is named.
func (d *FS) follow(tree linkReader, dir string) string {
	w := walk{tree: tree}
	err := w.follow(dir)
	if err == nil {
		return w.at
	}
	dir = path.Clean(dir)
	if dir == "." {
		return ""
	}
	return dir
}

// Entries lists the directory, sorted by name.
func (d *FS) Entries() ([]Entry, error) {
	list, err := d.list()
	if err != nil {
		return nil, err
	}
	return entries(list, d.Stat), nil
}

func (d *FS) list() ([]fs.DirEntry, error) { return fs.ReadDir(d.fsys, d.dir) }
