package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/exp/mmap"
)

// ErrNotRegular is returned for directories, pipes, sockets and devices, whose
// bytes cannot be mapped.
var ErrNotRegular = fmt.Errorf("not a regular file%.0w", tensor.ErrUnsupported)

// ErrDirectory is the ErrNotRegular of a directory.
var ErrDirectory = fmt.Errorf("%w: directory", ErrNotRegular)

// Open maps the regular file at path, for a zero Region. It rejects anything else, and never
// blocks, even if another process replaces the file meanwhile: see openName. Errors wrap those of
// package os. A file that is larger than the address space, or that the system cannot map for lack
// of room, is read on demand. Do not use r after an error.
func (r *Region) Open(path string, o Options) error {
	r.path = path
	r.name = path
	r.debug = o.Debug || debugBuild
	return r.opened(r.openName(path, &o))
}

// OpenFile maps size bytes at offset off of an open regular file, or all bytes from
// off on if size is negative. It does not move the file's offset, and the caller may
// close the file afterwards.
func OpenFile(f *os.File, off, size int64, o Options) (*Region, error) {
	r := &Region{path: f.Name(), name: f.Name(), debug: o.Debug || debugBuild}
	info, err := regular(f.Stat())
	if err == nil {
		err = r.openFile(f, info, off, max(size, toEnd), &o)
	}
	if err != nil {
		return nil, r.opened(err)
	}
	return r, nil
}

// opened adds the path to an error of opening.
func (r *Region) opened(err error) error {
	if err == nil || errors.As(err, new(*tensor.Error)) {
		return err
	}
	return r.fail(-1, err)
}

// mapFile is mmap.Open; tests replace it.
var mapFile = mmap.Open

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
	return &Region{src: src, size: max(size, 0)}
}

// FromReader returns a region of size bytes that are read from a program's reader on demand.
func FromReader(src *Reader, size int64) *Region {
	r := FromReaderAt(src.ReaderAt, size)
	r.reader = src
	r.path = src.Path
	r.proven.Store(src.Proven)
	return r
}

// OpenReader is FromReader with options. It takes ownership of src, even when it fails.
func OpenReader(src *Reader, size int64, o Options) (*Region, error) {
	r := FromReader(src, size)
	if !o.Private {
		return r, nil
	}
	r.Parsed() // reading ahead is of no use
	err := r.readWhole(&o)
	if err != nil {
		r.Close()
		return nil, err
	}
	r.src = nil
	return r, nil
}

// regular returns an error for a file that is not regular.
func regular(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil && !info.Mode().IsRegular() {
		err = kindError(info.Mode())
	}
	return info, err
}

// kindError returns the error for a path that is not a regular file.
func kindError(m fs.FileMode) error {
	kind := "irregular file"
	switch {
	case m&fs.ModeDir != 0:
		return ErrDirectory
	case m&fs.ModeSymlink != 0:
		kind = "link"
	case m&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case m&fs.ModeSocket != 0:
		kind = "socket"
	case m&fs.ModeDevice != 0:
		kind = "device"
	}
	return fmt.Errorf("%w: %s", ErrNotRegular, kind)
}

// rangeError returns the error for n bytes at off, outside a file of size bytes.
func rangeError(err error, off, n, size int64) error {
	if n == toEnd {
		return fmt.Errorf("%w: offset %d, of %d bytes", err, off, size)
	}
	return fmt.Errorf("%w: %d bytes from offset %d, of %d", err, n, off, size)
}

// toEnd is the size of a window that ends with its file.
const toEnd = -1

// window checks a range of a file of total bytes and returns its size. A negative n
// means the rest of the file.
func window(off, n, total int64) (int64, error) {
	switch {
	case off < 0:
		return 0, rangeError(fs.ErrInvalid, off, n, total)
	case off > total || n > total-off:
		return 0, rangeError(tensor.ErrTruncated, off, n, total)
	case n < 0:
		n = total - off
	}
	return n, nil
}

// errNoMappings means that x/exp/mmap does not map files on this system.
var errNoMappings = errors.New("files are not mapped here")

// mapName maps a window of the named file.
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
	r.setHeap(mem[off : off+size : off+size])
	r.ra = ra
	r.mem = mem
	r.skip = int(off)
	return nil
}

// mapPath is mapName for a file that is open, if path still names it.
func (r *Region) mapPath(path string, off, size int64, isSame func() error) error {
	err := isSame()
	if err == nil {
		err = r.mapName(path, off, size)
	}
	if err == nil {
		err = isSame()
	}
	if err != nil && r.ra != nil {
		r.ra.Close()
		r.ra = nil
		r.mem = nil
		r.skip = 0
	}
	return err
}

// readWindow reads the window of a file into memory, which it reserves for the life of the model.
func (r *Region) readWindow(src io.ReaderAt, off, size int64, o *Options) error {
	r.src = &part{src, off}
	r.size = size
	err := r.readWhole(o)
	r.src = nil
	return err
}

// readPrivate is readWindow for Options.Private. stamp returns the Stamp that the file has now: one
// that changed while it was read is ErrChanged.
func (r *Region) readPrivate(src io.ReaderAt, off, size int64, o *Options, stamp func() (Stamp, error)) error {
	err := r.readWindow(src, off, size, o)
	if err != nil {
		return err
	}
	return r.checkUnchanged(stamp)
}

func (r *Region) checkUnchanged(stamp func() (Stamp, error)) error {
	now, err := stamp()
	if err != nil {
		return err
	}
	if !r.stamp.SameContent(&now) {
		return tensor.ErrChanged
	}
	return nil
}

// wholeStep is the number of bytes that readWhole reads at once.
const wholeStep = 8 << 20

// readWhole reads the source of r into memory, and makes that the window.
func (r *Region) readWhole(o *Options) error {
	if o.Memory != nil {
		if err := o.Memory.Reserve(r.size); err != nil {
			return &tensor.Error{Format: r.format, Path: r.path, Field: "file", Offset: -1, Err: err}
		}
	}
	ctx := o.context()
	if r.size > probeOver {
		if err := r.prove(r.size); err != nil {
			return r.fail(0, err)
		}
	}
	if err := wire.CheckSize(r.size); err != nil {
		return r.fail(0, err)
	}
	b := memory.Aligned(int(r.size))
	steps := (len(b) + wholeStep - 1) / wholeStep
	err := work.Each(ctx, steps, max(1, r.Parallel()), func(i int) error {
		at := i * wholeStep
		n, err := r.fetch(ctx, b[at:min(at+wholeStep, len(b))], int64(at))
		if err != nil {
			return r.fail(int64(at+n), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.setHeap(b)
	return nil
}

// lacks reports whether err means that a file can neither be mapped nor read into memory, for
// lack of address space, mappings or memory. The file is then read on demand.
func lacks(err error) bool { return noRoom(err) || errors.Is(err, tensor.ErrLimit) }

// noRoom reports whether err says that the process cannot have another mapping: on Windows with
// ERROR_NOT_ENOUGH_MEMORY or ERROR_COMMITMENT_LIMIT.
func noRoom(err error) bool {
	if runtime.GOOS == "windows" {
		return errors.Is(err, syscall.Errno(8)) || errors.Is(err, syscall.Errno(1455))
	}
	return errors.Is(err, syscall.ENOMEM)
}

// readOnDemand makes the window a range of f, which the region owns from here on.
func (r *Region) readOnDemand(f *os.File, off, size int64) {
	r.file = f
	r.size = size
	r.src = &part{f, off}
}

// part is a file from an offset on.
type part struct {
	f    io.ReaderAt
	base int64
}

// ReadAt implements io.ReaderAt for ranges within the file as it was opened.
func (p *part) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.f.ReadAt(b, p.base+off)
	if errors.Is(err, io.EOF) {
		err = ErrCut
	}
	return n, err
}

// setHeap sets the window to b.
func (r *Region) setHeap(b []byte) { r.win, r.size = b, int64(len(b)) }
