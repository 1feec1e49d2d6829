package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/exp/mmap"
)

// ErrNotRegular is returned for directories, pipes, sockets and devices, whose
// bytes cannot be mapped.
var ErrNotRegular = errors.New("not a regular file")

// Open maps the regular file at path. It rejects anything else, and never blocks, even
// if another process replaces the file meanwhile: see openName. Errors wrap those of
// package os. A file that is larger than the address space, or that the system cannot map for
// lack of room, is read on demand.
func Open(path string, o Options) (*Region, error) {
	r := new(Region)
	if err := r.Open(path, o); err != nil {
		return nil, err
	}
	return r, nil
}

// Open is like the function Open, for a zero Region in a larger struct. Do not use r after an error.
func (r *Region) Open(path string, o Options) error {
	r.path, r.name, r.debug = path, path, o.Debug || debugBuild
	if err := r.openName(path, o); err != nil {
		r.release(&o)
		return r.failed(err)
	}
	return nil
}

// failed is fail for errors that may already have an origin.
func (r *Region) failed(err error) error {
	if errors.As(err, new(*tensor.Error)) {
		return err
	}
	return r.fail(-1, err)
}

// testHookHeld is called between opening a file and mapping it.
var testHookHeld func()

// load maps the named file, or reads it into memory if the system or the file system does not
// support mapping.
func (r *Region) load(name string, o *Options) error {
	if testHookHeld != nil {
		testHookHeld()
	}
	err := r.mapName(name, 0, toEnd)
	if err == errNoMappings || noMapping(err) {
		return r.readName(name, o)
	}
	return err
}

// mapFile is mmap.Open; tests replace it.
var mapFile = mmap.Open

// regular returns an error if mode is not that of a regular file.
func (r *Region) regular(mode fs.FileMode) error {
	if !mode.IsRegular() {
		return r.fail(-1, &kindError{mode})
	}
	return nil
}

// OpenFile maps size bytes at offset off of an open regular file, or all bytes from
// off on if size is negative. It does not move the file's offset, and the caller may
// close the file afterwards. If the system has no name by which a descriptor can be
// mapped, OpenFile reads the window into memory.
func OpenFile(f *os.File, off, size int64, o Options) (*Region, error) {
	r := &Region{path: f.Name(), name: f.Name(), debug: o.Debug || debugBuild}
	if err := r.openWindow(f, off, size, &o); err != nil {
		r.release(&o)
		return nil, r.failed(err)
	}
	return r, nil
}

// openWindow is OpenFile.
func (r *Region) openWindow(f *os.File, off, size int64, o *Options) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if m := info.Mode(); !m.IsRegular() {
		return &kindError{m}
	}
	size, err = window(off, max(size, toEnd), info.Size())
	if err != nil {
		return err
	}
	if size == 0 {
		r.setHeap([]byte{})
		return nil
	}
	if info.Size() <= math.MaxInt {
		err := r.mapDescriptor(f, off, size)
		r.id = idOfFile(info)
		if err == nil && o.Parse && r.Mapped() {
			r.head.borrow(f, off)
		}
		if err != nil && !noRoom(err) {
			err = r.readWindow(f, off, size, o)
		}
		if !lacks(err) {
			return err
		}
	}
	own, err := duplicate(f)
	if err != nil {
		return err
	}
	r.readOn(own, off, size, o)
	return nil
}

// FromBytes returns a region of the caller's memory, which it never modifies. The caller
// must not modify it while the region is in use.
func FromBytes(b []byte) *Region {
	r := new(Region)
	if b == nil {
		b = []byte{}
	}
	r.setHeap(b)
	return r
}

// FromReaderAt returns a region of size bytes that are read from src on demand. A
// negative size counts as 0.
func FromReaderAt(src io.ReaderAt, size int64) *Region {
	r := &Region{src: src, size: max(size, 0)}
	if n, ok := src.(named); ok {
		r.path = n.Path()
	}
	return r
}

// kindError is the error for a path that is not a regular file.
type kindError struct{ mode fs.FileMode }

func (e *kindError) Unwrap() error { return ErrNotRegular }

func (e *kindError) Error() string {
	kind := "irregular file"
	switch m := e.mode; {
	case m&fs.ModeDir != 0:
		kind = "directory"
	case m&fs.ModeSymlink != 0:
		kind = "link"
	case m&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case m&fs.ModeSocket != 0:
		kind = "socket"
	case m&fs.ModeDevice != 0:
		kind = "device"
	}
	return ErrNotRegular.Error() + ": " + kind
}

// rangeError is the error for a range outside the file.
type rangeError struct {
	off, n, size int64
	err          error
}

func (e *rangeError) Unwrap() error { return e.err }

func (e *rangeError) Error() string {
	if e.n == toEnd {
		return fmt.Sprintf("%v: offset %d, of %d bytes", e.err, e.off, e.size)
	}
	return fmt.Sprintf("%v: %d bytes from offset %d, of %d", e.err, e.n, e.off, e.size)
}

// toEnd is the size of a window that ends with its file.
const toEnd = -1

// window checks a range of a file of total bytes and returns its size. A negative n
// means the rest of the file.
func window(off, n, total int64) (int64, error) {
	switch {
	case off < 0:
		return 0, &rangeError{off, n, total, fs.ErrInvalid}
	case off > total || n > total-off:
		return 0, &rangeError{off, n, total, tensor.ErrTruncated}
	case n < 0:
		n = total - off
	}
	return n, nil
}

// errNoMappings means that x/exp/mmap does not map files on this system.
var errNoMappings = errors.New("files are not mapped here")

// mapName maps the named file and sets the window.
func (r *Region) mapName(name string, off, size int64) error {
	ra, err := mapFile(name)
	if err != nil {
		return err
	}
	// The file's size may have changed since it was checked.
	size, err = window(off, size, int64(ra.Len()))
	if err != nil {
		ra.Close()
		return err
	}
	mem, ok := mapping(ra)
	if !ok || size == 0 {
		ra.Close()
		if size > 0 {
			return errNoMappings
		}
		r.setHeap([]byte{})
		return nil
	}
	r.ra, r.mem, r.skip = ra, mem, int(off)
	r.win = mem[off : off+size : off+size]
	r.base = memory.Address(r.win)
	r.size = size
	return nil
}

// mapDescriptor maps f by the name of its descriptor. If descriptors have no names, it maps f by
// the name it was opened by, if that is still the same file.
func (r *Region) mapDescriptor(f *os.File, off, size int64) error {
	if descriptors == "" {
		return r.mapSame(f, off, size)
	}
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	// Control prevents the descriptor from being closed and reused meanwhile.
	cerr := c.Control(func(fd uintptr) { err = r.mapName(nameOf(int(fd)), off, size) })
	return cmp.Or(cerr, err)
}

// mapSame maps f by its path, and compares the file there with f before and after.
func (r *Region) mapSame(f *os.File, off, size int64) error {
	if err := samePath(f); err != nil {
		return err
	}
	if err := r.mapName(f.Name(), off, size); err != nil {
		return err
	}
	err := samePath(f)
	if err != nil && r.ra != nil {
		r.ra.Close()
		r.ra, r.mem, r.skip = nil, nil, 0
	}
	return err
}

// samePath reports ErrReplaced if f is no longer what its path names.
func samePath(f *os.File) error {
	was, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(f.Name())
	if err == nil && !os.SameFile(was, now) {
		err = ErrReplaced
	}
	return err
}

// nameOf returns the file system name of a descriptor.
func nameOf(fd int) string {
	if fd < len(names) {
		if name := names[fd].Load(); name != nil {
			return *name
		}
	}
	name := descriptors + strconv.Itoa(fd)
	if fd < len(names) {
		names[fd].Store(&name)
	}
	return name
}

// names caches the names of low descriptors.
var names [64]atomic.Pointer[string]

// readName reads a file that cannot be mapped into memory.
func (r *Region) readName(name string, o *Options) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return r.readWindow(f, 0, info.Size(), o)
}

// readWindow reads the window of a file that cannot be mapped into memory.
func (r *Region) readWindow(src io.ReaderAt, off, size int64, o *Options) error {
	if err := r.reserve(size, o); err != nil {
		return err
	}
	b, err := readHeap(src, off, size)
	if err == nil {
		r.setHeap(b)
	}
	return err
}

// setHeap sets the window to b, which is not a mapping.
func (r *Region) setHeap(b []byte) {
	r.win, r.base, r.size = b, memory.Address(b), int64(len(b))
}
