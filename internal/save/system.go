package save

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// All changes that a writer makes to the file system go through this file, so that tests can make each
// call fail or end the process there.

// Names of the calls that a hook can intercept.
const (
	CallCreate   = "create"
	CallMkdir    = "mkdir"
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

// SetHook sets a function that is called before each call; an error it returns replaces the call. Nil
// removes the hook. It is for tests.
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

// handle is an open file. It merges adjacent small writes: a model of many small tensors would
// otherwise need a system call for each.
type handle struct {
	f   *os.File
	buf *[]byte // pending writes; nil if none
	off int64   // offset of buf
	end int64   // end of all data written

	closed bool
}

// create creates a file that must not exist.
func create(name string, mode os.FileMode) (*handle, error) {
	if err := before(CallCreate, name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	return &handle{f: f}, err
}

// Name returns the name that the file was created under.
func (h *handle) Name() string { return h.f.Name() }

// Sequential returns false.
func (h *handle) Sequential() bool { return false }

// ReadAt implements io.ReaderAt.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.flush(); err != nil {
		return 0, err
	}
	return h.f.ReadAt(p, off)
}

// WriteAt implements io.WriterAt. The error may be that of an earlier write.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if h.buf != nil {
		at := h.off + int64(len(*h.buf))
		if gap := off - at; at == h.end && gap > 0 && gap < dataGap {
			at = off
			*h.buf = append(*h.buf, make([]byte, gap)...)
		}
		if off != at || len(*h.buf)+len(p) > piece {
			if err := h.flush(); err != nil {
				return 0, err
			}
		}
	}
	h.end = max(h.end, off+int64(len(p)))
	if len(p) >= piece {
		return h.writeAt(p, off)
	}
	if h.buf == nil {
		h.buf, h.off = buffers.Get().(*[]byte), off
		*h.buf = (*h.buf)[:0]
	}
	*h.buf = append(*h.buf, p...)
	return len(p), nil
}

// dataGap is larger than the gap between tensors in any format.
const dataGap = 4 << 10

func (h *handle) writeAt(p []byte, off int64) (int, error) {
	if err := before(CallWrite, h.Name()); err != nil {
		return 0, err
	}
	return h.f.WriteAt(p, off)
}

// flush writes the pending data.
func (h *handle) flush() error {
	if h.buf == nil {
		return nil
	}
	if _, err := h.writeAt(*h.buf, h.off); err != nil {
		return err
	}
	h.drop()
	return nil
}

func (h *handle) drop() {
	if h.buf != nil {
		buffers.Put(h.buf)
		h.buf = nil
	}
}

// Truncate sets the size of the file. It fills new space with zeros.
func (h *handle) Truncate(size int64) error {
	if err := h.flush(); err != nil {
		return err
	}
	h.end = max(h.end, size)
	return try(CallTruncate, h.Name(), func() error { return h.f.Truncate(size) })
}

// finish closes the file. With sync it first makes the content durable.
func (h *handle) finish(sync bool) error {
	err := h.flush()
	if err == nil && sync {
		err = try(CallSync, h.Name(), h.f.Sync)
	}
	return cmp.Or(err, h.close())
}

// close closes the file even if the hook returns an error, as a system does. A second call does
// nothing.
func (h *handle) close() error {
	h.drop()
	if h.closed {
		return nil
	}
	h.closed = true
	return cmp.Or(before(CallClose, h.Name()), h.f.Close())
}

func mkdir(name string, mode os.FileMode) error {
	return try(CallMkdir, name, func() error { return os.Mkdir(name, mode) })
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
	return try(CallRename, to, func() error { return move(from, to) })
}

// Remove deletes a file or an empty directory.
func Remove(name string) error {
	return try(CallRemove, name, func() error { return os.Remove(name) })
}
