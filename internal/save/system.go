package save

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// All changes that a writer makes to the file system go through this file, so that tests can make each
// call fail or end the process there.

var hook atomic.Pointer[func(call, path string) error]

// SetHook sets a function that is called before each call; an error it returns replaces the call. Nil
// removes the hook. It is for tests. The calls are "create", "mkdir", "inherit" (owner and permissions), "write",
// "truncate", "sync", "close", "rename", "sync directory" and "remove".
func SetHook(f func(call, path string) error) { hook.Store(&f) }

func before(call, path string) error {
	if f := hook.Load(); f != nil && *f != nil {
		return (*f)(call, path)
	}
	return nil
}

// try makes a call unless the hook returns an error.
func try(call, path string, f func() error) error {
	if err := before(call, path); err != nil {
		return err
	}
	return f()
}

// create creates a file that must not exist.
func create(name string, mode os.FileMode) (*File, error) {
	if err := before("create", name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return newFile(f), nil
}

// merging has buffers that merge adjacent small writes: a model of many small tensors would otherwise need
// a system call for each.
var merging = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, piece) }}

func newFile(f *os.File) *File {
	file := &File{f: f, buf: merging.Get().(*bufio.Writer)}
	file.buf.Reset((*flushed)(file))
	return file
}

// flushed is the io.Writer for the buffer of a File.
type flushed File

func (f *flushed) Write(p []byte) (int, error) {
	if err := before("write", f.f.Name()); err != nil {
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
func (f *File) WriteAt(p []byte, off int64) (n int, err error) {
	pos := f.at + int64(f.buf.Buffered())
	switch gap := off - pos; {
	case pos == f.end && 0 < gap && gap < dataGap:
		_, err = f.buf.Write(make([]byte, gap))
	case gap != 0:
		err = f.buf.Flush()
		f.at = off
	}
	if err != nil {
		return 0, err
	}
	n, err = f.buf.Write(p)
	f.end = max(f.end, off+int64(n))
	return n, err
}

// Truncate sets the size of the file. It fills new space with zeros.
func (f *File) Truncate(size int64) error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	f.end = max(f.end, size)
	return try("truncate", f.Name(), func() error { return f.f.Truncate(size) })
}

// finish closes the file. With sync it first makes the content durable.
func (f *File) finish(sync bool) error {
	err := f.buf.Flush()
	if err == nil && sync {
		err = try("sync", f.Name(), f.f.Sync)
	}
	return cmp.Or(err, f.close())
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
	return cmp.Or(before("close", f.Name()), f.f.Close())
}

func mkdir(name string, mode os.FileMode) error {
	return try("mkdir", name, func() error { return os.Mkdir(name, mode) })
}

// MakeDirs creates a directory and its missing parents, and returns those it created.
func MakeDirs(name string) (made []string, err error) {
	if exists(name) {
		return nil, nil
	}
	if made, err = MakeDirs(filepath.Dir(name)); err != nil {
		return made, err
	}
	switch err = mkdir(name, 0o777); {
	case err == nil:
		made = append(made, name)
	case errors.Is(err, fs.ErrExist):
		err = nil // created concurrently
	}
	return made, err
}

func rename(from, to string) error {
	return try("rename", to, func() error { return move(from, to) })
}

// move renames a file. On Windows this fails while another program has the old file open or mapped, often only for a
// moment, so move tries again.
func move(from, to string) error {
	err := os.Rename(from, to)
	for wait := time.Millisecond; busy(err) && wait < time.Second/2; wait *= 2 {
		time.Sleep(wait)
		err = os.Rename(from, to)
	}
	if busy(err) {
		return fmt.Errorf("%w (Windows replaces no file that is open or mapped: close its models, open them as copies, or write to another name)", err)
	}
	return err
}

// busy reports ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and ERROR_USER_MAPPED_FILE of Windows.
func busy(err error) bool {
	var code syscall.Errno
	return runtime.GOOS == "windows" && errors.As(err, &code) && (code == 5 || code == 32 || code == 1224)
}

// Remove deletes a file or an empty directory.
func Remove(name string) error {
	return try("remove", name, func() error { return os.Remove(name) })
}
