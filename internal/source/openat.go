//go:build linux || darwin

package source

import (
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// File is an open regular file of the host. Opening an os.File in an os.Root takes 1.5 times as
// long. A File is not closed by the garbage collector before Keep, and must not be in use when it
// is closed.
type File struct {
	fd     descriptor
	info   fileInfo // when it was opened
	at     int64    // where Read is
	isKept bool     // it has a finalizer
}

var (
	_ fs.File     = (*File)(nil)
	_ io.ReaderAt = (*File)(nil)
)

// OpenAt opens the regular file with a name, which is no link, in the directory that dir is open
// on. The name is one element of a path. path is for errors, and to open the file again.
func OpenAt(dir int, name, path string) (*File, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err := unix.Openat(dir, name, flags, 0)
	for err == unix.EINTR {
		fd, err = unix.Openat(dir, name, flags, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := &File{fd: descriptor(fd)}
	f.info.path = path
	err = f.examine()
	if err != nil {
		f.fd.close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// examine sets the status of the file, which must be regular.
func (f *File) examine() error {
	err := syscall.Fstat(int(f.fd), &f.info.st)
	if err != nil {
		return err
	}
	if f.info.st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return ErrNotRegular
	}
	return nil
}

// Info returns the status that the file had when it was opened.
func (f *File) Info() fs.FileInfo { return &f.info }

// Stat implements fs.File.
func (f *File) Stat() (fs.FileInfo, error) {
	now := &fileInfo{path: f.info.path}
	err := syscall.Fstat(int(f.fd), &now.st)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: now.path, Err: err}
	}
	return now, nil
}

// Read implements fs.File.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.fd.ReadAt(p, off)
	runtime.KeepAlive(f)
	return n, err
}

// Keep lets the garbage collector close the file. An os.File would cost two system calls.
func (f *File) Keep() {
	f.isKept = true
	runtime.SetFinalizer(f, (*File).Close)
}

// Close implements fs.File.
func (f *File) Close() error {
	f.take().close()
	return nil
}

// take returns the descriptor, which no longer belongs to f.
func (f *File) take() descriptor {
	if f.isKept {
		runtime.SetFinalizer(f, nil)
	}
	fd := f.fd
	f.fd = -1
	return fd
}

// region maps the file, or reads it if it must be private. It takes ownership of f.
func (f *File) region(o *Options) (*Region, error) {
	r := &Region{path: f.info.path, name: f.info.path, debug: o.Debug || debugBuild}
	err := r.mapDescriptor(f.take(), &f.info.st, 0, toEnd, o)
	if err != nil {
		return nil, r.opened(err)
	}
	return r, nil
}

// fileInfo is the status of a regular file.
type fileInfo struct {
	st   syscall.Stat_t
	path string
}

func (i *fileInfo) Name() string       { return filepath.Base(i.path) }
func (i *fileInfo) Size() int64        { return i.st.Size }
func (i *fileInfo) Mode() fs.FileMode  { return fs.FileMode(i.st.Mode).Perm() }
func (i *fileInfo) ModTime() time.Time { return modified(&i.st) }
func (i *fileInfo) IsDir() bool        { return false }
func (i *fileInfo) Sys() any           { return &i.st }
