package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/exp/mmap"
)

// ErrNotRegular is returned for directories, pipes, sockets and devices, whose
// bytes cannot be mapped.
var ErrNotRegular = errors.New("not a regular file")

// Open maps the regular file at path. Anything else is refused before it is
// opened, since opening a pipe would wait for its other end. Errors wrap those
// of package os, or tensor.ErrLimit for a file larger than the address space.
func Open(path string, o Options) (*Region, error) {
	r := &Region{path: path, debug: o.Debug || debugBuild}
	if !surelyRegular(path, o.NoLink) {
		if err := r.mappable(path, o.NoLink); err != nil {
			return nil, err
		}
	}
	err := r.mapName(path, 0, toEnd)
	if noMapping(err) {
		err = r.readName(path)
	}
	if err != nil {
		return nil, r.fail(-1, err)
	}
	return r, nil
}

// mappable refuses what is not a regular file, or too large for this platform.
func (r *Region) mappable(path string, noLink bool) error {
	stat := os.Stat
	if noLink {
		stat = os.Lstat
	}
	info, err := stat(path)
	if err != nil {
		return r.fail(-1, err)
	}
	if err := r.regular(info); err != nil {
		return err
	}
	if size := info.Size(); size > math.MaxInt {
		return r.fail(-1, fmt.Errorf("%w: %d bytes are more than this platform can address", tensor.ErrLimit, size))
	}
	return nil
}

// OpenFile maps size bytes from offset off of an open regular file, or all from
// off when size is negative. The file stays the caller's: its offset does not
// move, and it may be closed afterwards. Where the system has no name by which a
// descriptor can be mapped, the window is read into memory.
func OpenFile(f *os.File, off, size int64, o Options) (*Region, error) {
	r := &Region{path: f.Name(), debug: o.Debug || debugBuild}
	info, err := f.Stat()
	if err != nil {
		return nil, r.fail(-1, err)
	}
	if err := r.regular(info); err != nil {
		return nil, err
	}
	size, err = window(off, max(size, toEnd), info.Size())
	if err != nil {
		return nil, r.fail(-1, err)
	}
	if size == 0 {
		r.setHeap([]byte{})
		return r, nil
	}
	if r.mapDescriptor(f, off, size) {
		return r, nil
	}
	b, err := readHeap(f, off, size)
	if err != nil {
		return nil, r.fail(-1, err)
	}
	r.setHeap(b)
	return r, nil
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
	return &Region{src: src, size: max(size, 0)}
}

// regular refuses what cannot be mapped.
func (r *Region) regular(info fs.FileInfo) error {
	if m := info.Mode(); !m.IsRegular() {
		return r.fail(-1, &kindError{m})
	}
	return nil
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

// mapName maps the file called name and cuts the window out of it. On systems
// where x/exp/mmap does not map it reads the window.
func (r *Region) mapName(name string, off, size int64) error {
	ra, err := mmap.Open(name)
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
		b, err := readHeap(ra, off, size)
		ra.Close()
		if err != nil {
			return err
		}
		r.setHeap(b)
		return nil
	}
	r.ra, r.mem, r.skip = ra, mem, int(off)
	r.win = mem[off : off+size : off+size]
	r.base = memory.Address(r.win)
	r.size = size
	return nil
}

// mapDescriptor maps f by the name the system has for its descriptor, if any,
// and reports whether that worked.
func (r *Region) mapDescriptor(f *os.File, off, size int64) bool {
	if descriptors == "" {
		return false
	}
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	// Control keeps the descriptor from being closed and given out again meanwhile.
	cerr := c.Control(func(fd uintptr) {
		err = r.mapName(descriptors+strconv.FormatUint(uint64(fd), 10), off, size)
	})
	return cerr == nil && err == nil
}

// readName reads a file that its file system cannot map.
func (r *Region) readName(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b, err := readHeap(f, 0, info.Size())
	if err != nil {
		return err
	}
	r.setHeap(b)
	return nil
}

// setHeap makes b, which is not a mapping of ours, the window.
func (r *Region) setHeap(b []byte) {
	r.win, r.base, r.size = b, memory.Address(b), int64(len(b))
}
