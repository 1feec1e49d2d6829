package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/tensor"
)

// ExternalData reads ranges of files below a directory, which an untrusted file names: the external
// data of an ONNX model, or that of another format. It opens regular files only. A location that
// leads out of the directory, by ".." or by a link, is refused; in a snapshot of a Hugging Face
// cache, links to the blobs of the cache are followed.
//
// A file is opened for its first range and stays open until Close. All methods are safe for
// concurrent use.
type ExternalData struct {
	mu     sync.Mutex
	dir    *disk.Dir // nil once closed
	opened map[string]*externalFile
}

// mostExternal limits the files that are open at a time, whatever a hostile file names.
const mostExternal = 1024

// externalFile is an open file.
type externalFile struct {
	fs.File
	r    io.ReaderAt
	size int64
}

// ReadAt implements io.ReaderAt.
func (f *externalFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.r.ReadAt(p, off)
	if errors.Is(err, os.ErrClosed) {
		err = ErrClosed
	}
	return n, err
}

// OpenExternalData returns the files below a directory. It opens the directory when it is first
// used.
func OpenExternalData(dir string) *ExternalData {
	return &ExternalData{dir: disk.OpenDir(dir, ""), opened: map[string]*externalFile{}}
}

// Range returns length bytes at offset of the file at a location, a path below the directory with
// slashes. A length of -1 means up to the end of the file. The section reads the file when it is
// used, until Close; with tensor.FromReaderAt it is the data of a view.
//
// Errors: ErrCorrupt for a location that is not below the directory and for a range that is none,
// ErrUnsupported for a link that leads out of it, ErrTruncated for a range that the file does not
// have, ErrLimit for the 1,025th file, ErrClosed, and those of the system, such as fs.ErrNotExist.
func (e *ExternalData) Range(location string, offset, length int64) (*io.SectionReader, error) {
	if err := external.CheckLocation([]byte(location)); err != nil {
		return nil, err
	}
	if offset < 0 || length < -1 {
		return nil, externalError(location, fmt.Errorf("%w: %d bytes at %d", ErrCorrupt, length, offset))
	}
	f, err := e.open(external.Clean(location))
	if err != nil {
		return nil, externalError(location, err)
	}
	if length == -1 {
		length = max(0, f.size-offset)
	}
	if length > f.size-offset {
		return nil, externalError(location, fmt.Errorf("%w: %d bytes at %d of a file of %d", ErrTruncated, length, offset, f.size))
	}
	return io.NewSectionReader(f, offset, length), nil
}

func externalError(location string, err error) error {
	return &tensor.Error{Field: fmt.Sprintf("external data %.200q", location), Offset: -1, Err: err}
}

// open returns the file with a name, which it opens unless it is open.
func (e *ExternalData) open(name string) (*externalFile, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dir == nil {
		return nil, ErrClosed
	}
	f, ok := e.opened[name]
	if ok {
		return f, nil
	}
	if len(e.opened) == mostExternal {
		return nil, fmt.Errorf("%w: %d files are open", ErrLimit, mostExternal)
	}
	file, info, err := e.dir.Open(name)
	if err != nil {
		return nil, err
	}
	r, ok := file.(io.ReaderAt)
	if !ok {
		file.Close()
		return nil, fmt.Errorf("%w: the file is read from front to back only", ErrUnsupported)
	}
	f = &externalFile{File: file, r: r, size: info.Size()}
	e.opened[name] = f
	return f, nil
}

// Close closes the files. Ranges of them return ErrClosed from then on. A second Close does
// nothing.
func (e *ExternalData) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dir == nil {
		return nil
	}
	e.dir.Close()
	e.dir = nil
	var all []error
	for _, f := range e.opened {
		all = append(all, f.Close())
	}
	e.opened = nil
	return errors.Join(all...)
}

// String describes the state on one line.
func (e *ExternalData) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dir == nil {
		return "external data, closed"
	}
	return fmt.Sprintf("external data in %q", e.dir.Path(""))
}
