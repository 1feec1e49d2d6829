package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// File is a file that is being written, under a hidden name next to the file that it will replace.
// The replacement is one rename: readers see the old file or the new one, and mappings of the old
// file stay valid.
type File struct {
	NoSync bool // skips fsync

	f         *os.File
	buf       *bufio.Writer // nil once closed
	at        int64         // offset of buf
	end       int64         // end of all data written
	final     string        // the path of the file to replace
	completed time.Time
	isUnnamed bool // it is in place or, as a spool, has no name
}

// Create starts the replacement of path, which need not exist. It follows symbolic links, but not
// into the blobs of a cache, and refuses anything but a regular file. The new file gets the owner
// and permissions of the old one as far as the system allows; without an old file, the umask
// applies. The first Create in a directory removes the files that killed writers left there.
func Create(path string) (*File, error) {
	final, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	old, err := os.Stat(final)
	if errors.Is(err, fs.ErrNotExist) {
		return CreateLike(final, nil)
	}
	if err != nil {
		return nil, err
	}
	if !old.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
	}
	return CreateLike(final, old)
}

// CreateLike is Create for a path without symbolic links. The new file gets the owner and
// permissions of old, which may be nil.
func CreateLike(path string, old fs.FileInfo) (*File, error) {
	removeLeftovers(filepath.Dir(path))
	return createHidden(path, hiddenName(path, newWriter(), 0), old)
}

func createHidden(path, hidden string, old fs.FileInfo) (*File, error) {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until it has the owner and permissions of old
	}
	f, err := create(hidden, mode)
	if err != nil {
		return nil, err
	}
	f.final = path
	inherit(f.f, old)
	return f, nil
}

// CreateSpool returns a file in the system's directory for temporary files. Where the system allows
// it, the file has no name from the start, so that nothing remains if the process is killed.
func CreateSpool() (*File, error) {
	if err := before(Call{Name: "create", Path: "spool"}); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "weightmap-*.spool")
	if err != nil {
		return nil, err
	}
	file := newFile(f)
	file.isUnnamed = Remove(f.Name()) == nil
	return file, nil
}

// create creates a file that must not exist.
func create(name string, mode fs.FileMode) (*File, error) {
	if err := before(Call{Name: "create", Path: name}); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return newFile(f), nil
}

// merging has buffers that merge adjacent small writes: a model of many small tensors would
// otherwise need a system call for each. Pieces of 256 KiB are larger and not copied.
var merging = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 128<<10) }}

func newFile(f *os.File) *File {
	file := &File{f: f, buf: merging.Get().(*bufio.Writer)}
	file.buf.Reset((*flushed)(file))
	return file
}

// flushed is the io.Writer for the buffer of a File.
type flushed File

func (f *flushed) Write(p []byte) (int, error) {
	if err := before(Call{Name: "write", Path: f.f.Name()}); err != nil {
		return 0, err
	}
	n, err := f.f.WriteAt(p, f.at)
	f.at += int64(n)
	return n, err
}

// Name returns the name that the file was created under.
func (f *File) Name() string { return f.f.Name() }

// Sequential returns false.
func (f *File) Sequential() bool { return false }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.buf.Flush(); err != nil {
		return 0, err
	}
	return f.f.ReadAt(p, off)
}

// dataGap is larger than the gap between tensors in any format.
const dataGap = 4 << 10

// WriteAt implements io.WriterAt. The error may be that of an earlier write, after which all fail.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	pos := f.at + int64(f.buf.Buffered())
	gap := off - pos
	switch {
	case pos == f.end && 0 < gap && gap < dataGap:
		if _, err := f.buf.Write(make([]byte, gap)); err != nil {
			return 0, err
		}
	case gap != 0:
		if err := f.buf.Flush(); err != nil {
			return 0, err
		}
		f.at = off
	}
	if len(p) >= f.buf.Size() { // which bufio would cut in two
		err := f.buf.Flush()
		if err != nil {
			return 0, err
		}
	}
	n, err := f.buf.Write(p)
	f.end = max(f.end, off+int64(n))
	return n, err
}

// Truncate sets the size of the file. It fills new space with zeros.
func (f *File) Truncate(size int64) error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	f.end = max(f.end, size)
	if err := before(Call{Name: "truncate", Path: f.Name()}); err != nil {
		return err
	}
	return f.f.Truncate(size)
}

// Complete makes the content durable, unless NoSync is set, and closes the file under its hidden
// name.
func (f *File) Complete() error {
	if err := f.flush(); err != nil {
		_ = f.close()
		return err
	}
	f.completed = time.Now()
	return f.close()
}

func (f *File) flush() error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	if f.NoSync {
		return nil
	}
	if err := before(Call{Name: "sync", Path: f.Name()}); err != nil {
		return err
	}
	return f.f.Sync()
}

// close closes the file even if the hook returns an error, as a system does. A second call does
// nothing.
func (f *File) close() error {
	if f.buf == nil {
		return nil
	}
	f.buf.Reset(nil)
	merging.Put(f.buf)
	f.buf = nil
	hooked := before(Call{Name: "close", Path: f.Name()})
	if err := f.f.Close(); err != nil {
		return err
	}
	return hooked
}

// Publish completes the file, renames it into place and makes that durable, unless NoSync is set.
// An error that wraps ErrNotDurable means that the file is in place but may not survive a crash.
// After any other error the hidden file is gone and the old file is untouched.
func (f *File) Publish() error {
	if err := f.PublishAs(f.final); err != nil {
		return err
	}
	if f.NoSync {
		return nil
	}
	return settle(filepath.Dir(f.final))
}

// PublishAs is Publish under another name in the same directory. It does not sync the directory.
func (f *File) PublishAs(path string) error {
	defer f.Abort()
	if err := f.Complete(); err != nil {
		return err
	}
	if err := Rename(f.Name(), path); err != nil {
		return err
	}
	f.isUnnamed = true
	return nil
}

// Abort closes the file and removes it, unless it is in place.
func (f *File) Abort() {
	_ = f.close()
	if !f.isUnnamed {
		_ = Remove(f.Name())
	}
}
