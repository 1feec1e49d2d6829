package save

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Everything that a writer changes in the file system goes through this file, so
// that tests can make each call fail, or end the process there.

// The calls that a hook is told of.
const (
	CallCreate   = "create"
	CallMkdir    = "mkdir"
	CallLock     = "lock"
	CallInherit  = "inherit" // owner and permissions
	CallWrite    = "write"
	CallTruncate = "truncate"
	CallSync     = "sync"
	CallClose    = "close"
	CallRename   = "rename"
	CallSyncDir  = "sync directory"
	CallRemove   = "remove"
)

var hook atomic.Pointer[func(call, path string) error]

// SetHook has f asked before each call, and its error take the place of the call.
// Nil ends this. It is for tests.
func SetHook(f func(call, path string) error) {
	if f == nil {
		hook.Store(nil)
	} else {
		hook.Store(&f)
	}
}

func before(call, path string) error {
	if f := hook.Load(); f != nil {
		return (*f)(call, path)
	}
	return nil
}

// handle is an open file.
type handle struct{ f *os.File }

// create makes a file that must not exist.
func create(name string, mode os.FileMode) (h handle, err error) {
	if err = before(CallCreate, name); err == nil {
		h.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	}
	return h, err
}

// Name returns the name the file was made by.
func (h handle) Name() string { return h.f.Name() }

// Sequential is false.
func (h handle) Sequential() bool { return false }

// ReadAt implements io.ReaderAt.
func (h handle) ReadAt(p []byte, off int64) (int, error) { return h.f.ReadAt(p, off) }

// WriteAt implements io.WriterAt.
func (h handle) WriteAt(p []byte, off int64) (int, error) {
	if err := before(CallWrite, h.Name()); err != nil {
		return 0, err
	}
	return h.f.WriteAt(p, off)
}

// Write appends to what was written by Write and ReadFrom.
func (h handle) Write(p []byte) (int, error) {
	if err := before(CallWrite, h.Name()); err != nil {
		return 0, err
	}
	return h.f.Write(p)
}

// ReadFrom appends what r delivers, by sharing blocks where the system can.
func (h handle) ReadFrom(r io.Reader) (int64, error) {
	if err := before(CallWrite, h.Name()); err != nil {
		return 0, err
	}
	return h.f.ReadFrom(r)
}

// Truncate cuts the file to size, or fills it up with zeros.
func (h handle) Truncate(size int64) error {
	if err := before(CallTruncate, h.Name()); err != nil {
		return err
	}
	return h.f.Truncate(size)
}

// finish closes the file. With sync it is on stable storage by then.
func (h handle) finish(sync bool) error {
	var err error
	if sync {
		if err = before(CallSync, h.Name()); err == nil {
			err = h.f.Sync()
		}
	}
	if e := h.close(); err == nil {
		err = e
	}
	return err
}

// close closes the file even if it is told to fail, as the system does.
func (h handle) close() error {
	err := before(CallClose, h.Name())
	if e := h.f.Close(); err == nil {
		err = e
	}
	return err
}

func mkdir(name string, mode os.FileMode) error {
	if err := before(CallMkdir, name); err != nil {
		return err
	}
	return os.Mkdir(name, mode)
}

// MakeDirs makes a directory and those above it that are missing, and lists them.
func MakeDirs(name string) (made []string, err error) {
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return nil, nil
	}
	if up := filepath.Dir(name); up != name {
		if made, err = MakeDirs(up); err != nil {
			return made, err
		}
	}
	err = mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return made, nil // it came meanwhile
	}
	if err != nil {
		return made, err
	}
	return append(made, name), nil
}

func rename(from, to string) error {
	if err := before(CallRename, to); err != nil {
		return err
	}
	return move(from, to)
}

// Remove deletes a file or an empty directory.
func Remove(name string) error {
	if err := before(CallRemove, name); err != nil {
		return err
	}
	return os.Remove(name)
}
