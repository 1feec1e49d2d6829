package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// door is where the files of a model come from: a directory, a file system, or the siblings of a
// reader.
type door interface {
	// Entries lists the directory, sorted by name, while the model is parsed.
	Entries() ([]driver.DirEntry, error)
	// HasChanged lists the directory again and reports whether it has other files than Entries
	// returned.
	HasChanged() bool
	// Path returns the path of a file for messages, "" if only the open file knows it.
	Path(name string) string
	// Settle prepares for the use of the door after parsing.
	Settle()
	// Hold keeps the door open from then on, so that many files can be opened from it.
	Hold()
	// Close ends what Hold or the parsing of a model began: the door keeps nothing open.
	Close()

	// open opens a regular file.
	open(name string) (*handle, error)
	// stamp returns the Stamp that open would find. It fails for a door whose files have none.
	stamp(name string) (source.Stamp, error)
	// isLazy reports whether a declared file is opened when it is first used, since opening it
	// takes long.
	isLazy() bool
}

// handle is an open file of a model without a Region.
type handle struct {
	file   fs.File // nil for a sibling
	info   fs.FileInfo
	reader *source.Reader // a sibling
	size   int64
}

// region returns the Region of the file. It takes ownership of h, even when it fails.
func (h *handle) region(path string, o source.Options) (*source.Region, error) {
	if h.file == nil {
		return source.OpenReader(h.reader, h.size, o)
	}
	return source.FromFile(h.file, h.info, path, o)
}

// readHead reads the first len(p) bytes of the file, or all of a shorter one. isWhole reports that
// the file can still be read from its beginning.
func (h *handle) readHead(p []byte) (n int, isWhole bool, err error) {
	r, _ := h.file.(io.ReaderAt)
	if h.file == nil {
		r = h.reader
	}
	if r != nil {
		n, err = r.ReadAt(p, 0)
		isWhole = true
	} else {
		n, err = io.ReadFull(h.file, p)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, isWhole, err
}

// isNoLink reports whether the file was opened by a name that is not that of a link.
func (h *handle) isNoLink() bool {
	_, ok := h.file.(*source.File)
	return ok
}

func (h *handle) close() {
	if h.file != nil {
		h.file.Close()
		return
	}
	if h.reader.Cancel != nil {
		h.reader.Cancel()
	}
}

// diskTree is a directory of package disk.
type diskTree interface {
	OpenNoLink(name string) (f *source.File, ok bool)
	Open(name string) (fs.File, fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	Entries() ([]disk.Entry, error)
	Path(name string) string
	Settle()
	Close()
}

var (
	_ diskTree = (*disk.Dir)(nil)
	_ diskTree = (*disk.FS)(nil)
)

// directoryDoor is the door of a diskTree.
type directoryDoor struct {
	mu      sync.Mutex
	tree    diskTree
	holds   int               // if it is 0, each use releases the tree
	entries []driver.DirEntry // nil until it is listed
}

// inDirectory returns the door of a directory. root is Options.Root.
func inDirectory(path, root string) door {
	return &directoryDoor{tree: disk.OpenDir(path, root), holds: 1}
}

// inFS returns the door of a directory of a file system. root is Options.Root.
func inFS(fsys fs.FS, dir, root string) door {
	return &directoryDoor{tree: disk.OpenFS(fsys, dir, root), holds: 1}
}

// Path implements door.
func (d *directoryDoor) Path(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tree.Path(name)
}

// Settle implements door.
func (d *directoryDoor) Settle() { d.tree.Settle() }

// Entries implements door. It lists the directory once.
func (d *directoryDoor) Entries() ([]driver.DirEntry, error) {
	if d.entries != nil {
		return d.entries, nil
	}
	list, err := d.tree.Entries()
	if err != nil {
		return nil, err
	}
	d.entries = make([]driver.DirEntry, len(list))
	for i, e := range list {
		d.entries[i] = driver.DirEntry(e)
	}
	return d.entries, nil
}

// HasChanged implements door.
func (d *directoryDoor) HasChanged() bool {
	list, err := d.tree.Entries()
	if err != nil {
		return false
	}
	return !slices.EqualFunc(list, d.entries, func(a disk.Entry, b driver.DirEntry) bool {
		return a.Name == b.Name && a.Regular == b.Regular
	})
}

// Hold implements door.
func (d *directoryDoor) Hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds++
}

// Close implements door.
func (d *directoryDoor) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds = max(0, d.holds-1)
	if d.holds == 0 {
		d.tree.Close()
		d.entries = nil
	}
}

func (d *directoryDoor) open(name string) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds == 0 {
		defer d.tree.Close()
	}
	plain, ok := d.tree.OpenNoLink(name)
	if ok {
		info := plain.Info()
		return &handle{file: plain, info: info, size: info.Size()}, nil
	}
	f, info, err := d.tree.Open(name)
	if err != nil {
		return nil, err
	}
	return &handle{file: f, info: info, size: info.Size()}, nil
}

func (d *directoryDoor) stamp(name string) (source.Stamp, error) {
	info, err := d.tree.Stat(name)
	if err != nil {
		return source.Stamp{}, err
	}
	return source.StampOf(info), nil
}

func (d *directoryDoor) isLazy() bool { return false }

// siblings is the door of a reader that opens other files by name.
type siblings func(name string) (r io.ReaderAt, size int64, err error)

// HasChanged implements door.
func (siblings) HasChanged() bool { return false }

// Entries implements door.
func (siblings) Entries() ([]driver.DirEntry, error) { return nil, errNoDir }

// Path implements door.
func (siblings) Path(string) string { return "" }

// Settle implements door.
func (siblings) Settle() {}

// Hold implements door.
func (siblings) Hold() {}

// Close implements door.
func (siblings) Close() {}

func (s siblings) open(name string) (*handle, error) {
	name = path.Clean(name)
	if !isFileName(name) {
		return nil, fmt.Errorf("%w: %.200q leads out of the directory of the model", tensor.ErrCorrupt, name)
	}
	r, size, err := s(name)
	if err != nil {
		return nil, err
	}
	return &handle{reader: readerOf(r), size: size}, nil
}

func (siblings) stamp(string) (source.Stamp, error) { return source.Stamp{}, errNoDir }

func (siblings) isLazy() bool { return true }

// noDoor is the door of a model without other files.
type noDoor struct{}

func (noDoor) HasChanged() bool                    { return false }
func (noDoor) Entries() ([]driver.DirEntry, error) { return nil, errNoDir }
func (noDoor) Path(name string) string             { return name }
func (noDoor) Settle()                             {}
func (noDoor) Hold()                               {}
func (noDoor) Close()                              {}
func (noDoor) open(string) (*handle, error)        { return nil, errNoDir }
func (noDoor) stamp(string) (source.Stamp, error)  { return source.Stamp{}, errNoDir }
func (noDoor) isLazy() bool                        { return true }

var errNoDir = fmt.Errorf("%w: a model that was not opened by path has no directory; set Options.Dir", tensor.ErrUnsupported)

// isFileName reports whether name is that of a file below the directory of a model.
func isFileName(name string) bool { return fs.ValidPath(name) && name != "." }

func errFileName(name string) error {
	return fmt.Errorf("%w: %.200q is no name of a file below the directory of the model", tensor.ErrOption, name)
}

// siblingsOf returns the door of a reader, nil if it opens no other files.
func siblingsOf(r io.ReaderAt) door {
	s, ok := r.(SiblingOpener)
	if !ok {
		return nil
	}
	return siblings(s.Sibling)
}
