package disk

import "io/fs"

// files is a directory as a file system: it lists the directory, and opens the regular files in it
// by the rule of links.
type files struct {
	open func(name string) (fs.File, fs.FileInfo, error)
	stat func(name string) (fs.FileInfo, error)
	list func() ([]fs.DirEntry, error)
}

// Files returns the directory as a file system, until Close.
func (d *Dir) Files() fs.FS { return files{d.Open, d.Stat, d.list} }

// Files returns the directory as a file system.
func (d *FS) Files() fs.FS { return files{d.Open, d.Stat, d.list} }

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	opened, _, err := f.open(name)
	return opened, err
}

// Stat implements fs.StatFS.
func (f files) Stat(name string) (fs.FileInfo, error) { return f.stat(name) }

// ReadDir implements fs.ReadDirFS for the directory itself.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	return f.list()
}
