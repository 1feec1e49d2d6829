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

// Open maps the regular file at path. Anything else is refused, and nothing that
// another process puts in its place meanwhile makes opening wait: see openName. Errors
// wrap those of package os. A file that is larger than the address space, or that the system
// has no room to map, is read when it is asked for.
func Open(path string, o Options) (*Region, error) {
	r := new(Region)
	if err := r.Open(path, o); err != nil {
		return nil, err
	}
	return r, nil
}

// Open is the function Open for the zero Region in a larger struct, which is not of use after an error.
func (r *Region) Open(path string, o Options) error {
	r.path, r.name, r.debug = path, path, o.Debug || debugBuild
	if err := r.openName(path, o); err != nil {
		r.release(&o)
		return r.failed(err)
	}
	return nil
}

// failed is fail for errors that may have an origin already.
func (r *Region) failed(err error) error {
	if errors.As(err, new(*tensor.Error)) {
		return err
	}
	return r.fail(-1, err)
}

// testHookHeld is called between opening a file and mapping it.
var testHookHeld func()

// load maps the file called name, or reads it into memory where that system or file system
// does not map.
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

// mapFile is mmap.Open, for tests to fail.
var mapFile = mmap.Open

// regular refuses what is not a regular file.
func (r *Region) regular(mode fs.FileMode) error {
	if !mode.IsRegular() {
		return r.fail(-1, &kindError{mode})
	}
	return nil
}

// OpenFile maps size bytes from offset off of an open regular file, or all from
// off when size is negative. The file stays the caller's: its offset does not
// move, and it may be closed afterwards. Where the system has no name by which a
// descriptor can be mapped, the window is read into memory.
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

// FromBytes makes a region of the caller's memory, which is never written and
// never freed. The caller leaves it unchanged until the region is dropped.
func FromBytes(b []byte) *Region {
	r := new(Region)
	if b == nil {
		b = []byte{}
	}
	r.setHeap(b)
	return r
}

// FromReaderAt makes a region of size bytes that nothing holds in memory: they
// are read from src when asked for. A negative size counts as 0.
func FromReaderAt(src io.ReaderAt, size int64) *Region {
	r := &Region{src: src, size: max(size, 0)}
	if n, ok := src.(named); ok {
		r.path = n.Path()
	}
	return r
}

// kindError says what a path is that is not a regular file.
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

// rangeError describes a range that leaves the file.
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

// window checks a range of a file of total bytes and returns its size; any
// negative n stands for what the file has.
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

// errNoMappings says that x/exp/mmap does not map on this system.
var errNoMappings = errors.New("files are not mapped here")

// mapName maps the file called name and cuts the window out of it.
func (r *Region) mapName(name string, off, size int64) error {
	ra, err := mapFile(name)
	if err != nil {
		return err
	}
	// The file may have another length now than when it was looked at before.
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

// mapDescriptor maps f by the name the system has for its descriptor. Where it has none, f is
// mapped by the name it was opened by, if that is still the same file.
func (r *Region) mapDescriptor(f *os.File, off, size int64) error {
	if descriptors == "" {
		return r.mapSame(f, off, size)
	}
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	// Control keeps the descriptor from being closed and given out again meanwhile.
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

// nameOf returns the name that the system has for a descriptor.
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

// names are those of the descriptors that are used again and again.
var names [64]atomic.Pointer[string]

// readName reads a file that is not mapped.
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

// readWindow reads a file that is not mapped into memory.
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

// setHeap makes b, which is not a mapping of ours, the window.
func (r *Region) setHeap(b []byte) {
	r.win, r.base, r.size = b, memory.Address(b), int64(len(b))
}
