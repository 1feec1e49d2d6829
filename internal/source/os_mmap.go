//go:build linux || darwin

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
	"syscall"
	"time"

	"github.com/weightmap/weightmap/internal/pass"
	"golang.org/x/sys/unix"
)

// NoWait is a flag for os.OpenFile, which then does not block on a pipe.
const NoWait = syscall.O_NONBLOCK

// protect makes a whole mapping inaccessible and reports whether it did.
func protect(mem []byte) bool { return syscall.Mprotect(mem, syscall.PROT_NONE) == nil }

// idOf returns the fileID for a file's status.
func idOf(st *syscall.Stat_t) fileID { return fileID{uint64(st.Dev), st.Ino} }

// StampOf returns the Stamp of a file's status.
func StampOf(info fs.FileInfo) Stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{size: info.Size(), mtime: info.ModTime()}
	}
	return stampOf(st)
}

func stampOf(st *syscall.Stat_t) Stamp {
	return Stamp{id: idOf(st), size: st.Size, mtime: modified(st), ctime: changed(st)}
}

// openRegular opens the regular file at a path. It never blocks.
func openRegular(path string) (fd descriptor, st syscall.Stat_t, err error) {
	const flags = syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC
	n, err := syscall.Open(path, flags, 0)
	for err == syscall.EINTR {
		n, err = syscall.Open(path, flags, 0)
	}
	switch err {
	case nil:
	case syscall.ELOOP:
		return 0, st, kindError(fs.ModeSymlink)
	case syscall.ENXIO, syscall.EOPNOTSUPP:
		return 0, st, kindError(fs.ModeSocket)
	default:
		return 0, st, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	fd = descriptor(n)
	if err := syscall.Fstat(n, &st); err != nil {
		fd.close()
		return 0, st, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		fd.close()
		return 0, st, kindError(kindOf(&st))
	}
	return fd, st, nil
}

// kindOf returns the type bits of a file's status.
func kindOf(st *syscall.Stat_t) fs.FileMode {
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return 0
	case syscall.S_IFDIR:
		return fs.ModeDir
	case syscall.S_IFIFO:
		return fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		return fs.ModeSocket
	case syscall.S_IFCHR, syscall.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}

// openName maps the file at path. It maps the descriptor by its name, and parsing reads from the
// descriptor, so that replacing the file has no effect.
func (r *Region) openName(path string, o *Options) error {
	fd, st, err := openRegular(path)
	if err != nil {
		return err
	}
	return r.mapDescriptor(fd, &st, 0, toEnd, o)
}

// openFile is OpenFile.
func (r *Region) openFile(f *os.File, info fs.FileInfo, off, size int64, o *Options) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	cerr := c.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
	if err := cmp.Or(cerr, err); err != nil {
		return err
	}
	return r.mapDescriptor(descriptor(fd), info.Sys().(*syscall.Stat_t), off, size, o)
}

// mapDescriptor maps a window of the file that fd is open on. If it cannot be mapped, or must be
// private, the window is read into memory or on demand. mapDescriptor takes ownership of fd.
func (r *Region) mapDescriptor(fd descriptor, st *syscall.Stat_t, off, size int64, o *Options) error {
	size, err := window(off, size, st.Size)
	if err != nil {
		fd.close()
		return err
	}
	r.stamp = stampOf(st)
	if o.Private {
		defer fd.close()
		return r.readPrivate(fd, off, size, o, fd.stamp)
	}
	if st.Size <= math.MaxInt {
		err := r.mapName(fd.name(), off, size)
		if errors.Is(err, fs.ErrNotExist) { // a system without /proc
			err = r.mapPath(r.name, off, size, func() error {
				same, err := r.openAgain()
				if err == nil {
					same.close()
				}
				return err
			})
		}
		if errors.Is(err, syscall.ENODEV) { // the file system cannot map files
			err = r.readWindow(fd, off, size, o)
		}
		if !lacks(err) {
			if err == nil && o.Parse && r.Mapped() {
				r.parse(fd, off)
			} else {
				fd.close()
			}
			return unnamed(err)
		}
	}
	r.readOnDemand(os.NewFile(uintptr(fd), r.name), off, size)
	return nil
}

// descriptor is an open file.
type descriptor int

// ReadAt implements io.ReaderAt with pread(2).
func (d descriptor) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		k, err := syscall.Pread(int(d), p[n:], off+int64(n))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return n, err
		case k == 0:
			return n, io.EOF
		default:
			n += k
		}
	}
	return n, nil
}

func (d descriptor) close() { syscall.Close(int(d)) }

// stamp returns the Stamp that the file has now.
func (d descriptor) stamp() (Stamp, error) {
	var st syscall.Stat_t
	err := syscall.Fstat(int(d), &st)
	if err != nil {
		return Stamp{}, os.NewSyscallError("fstat", err)
	}
	return stampOf(&st), nil
}

// name returns the file system name of a descriptor.
func (d descriptor) name() string {
	if int(d) >= len(names) {
		return descriptors + strconv.Itoa(int(d))
	}
	if name := names[d].Load(); name != nil {
		return *name
	}
	name := descriptors + strconv.Itoa(int(d))
	names[d].Store(&name)
	return name
}

// names caches the names of low descriptors.
var names [64]atomic.Pointer[string]

// unnamed removes the name of a descriptor from an error.
func unnamed(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}

// Reopen opens the file of a mapping by its name, for bulk reads on demand: pread(2) causes no page
// faults and does not make the process larger. It fails if the name now refers to another file. The
// mapping prevents the inode number from being reused.
func (r *Region) Reopen() (pass.Reopened, error) {
	if r.ra == nil {
		return nil, errors.ErrUnsupported
	}
	fd, err := r.openAgain()
	if err != nil {
		return nil, err
	}
	f := &reopened{fd: fd}
	f.format = r.format
	f.path = r.path
	f.seal = r.seal
	f.src = &part{fd, int64(r.skip)}
	f.size = r.size
	return f, nil
}

// reopened is a mapped file that is read. An os.File would cost three system calls more (Decode of
// 350 kB: 6 %).
type reopened struct {
	Region
	fd descriptor
}

var _ pass.Reopened = (*reopened)(nil)

// Kind implements pass.File.
func (f *reopened) Kind() pass.Kind {
	k := f.Region.Kind()
	k.IsReader = false
	return k
}

// ReadEach implements pass.Reopened.
func (f *reopened) ReadEach(to [][]byte, off int64) (ok bool, err error) {
	if f.seal != nil {
		return false, nil
	}
	base := f.src.(*part).base
	n := int64(0)
	for len(to) > 0 {
		k, err := preadv(f.fd, to[:min(len(to), mostVectors)], base+off+n)
		switch {
		case err == syscall.EINTR:
			continue
		case err == errors.ErrUnsupported:
			return false, nil
		case err == nil && k == 0:
			err = ErrCut
		}
		if err != nil {
			return true, f.fail(off+n, err)
		}
		n += int64(k)
		to = rest(to, k)
	}
	return true, nil
}

// mostVectors is the maximum number of buffers of a system call.
const mostVectors = 1024

// rest returns the buffers without their first n bytes, nor empty ones before the others.
func rest(to [][]byte, n int) [][]byte {
	for len(to) > 0 && n >= len(to[0]) {
		n -= len(to[0])
		to = to[1:]
	}
	if n > 0 {
		to[0] = to[0][n:]
	}
	return to
}

// Close closes the file. It is not in use.
func (f *reopened) Close() error {
	f.fd.close()
	return nil
}

// openAgain opens the file by its name, if that still refers to it.
func (r *Region) openAgain() (descriptor, error) {
	fd, st, err := openRegular(r.name)
	if err == nil && idOf(&st) != r.stamp.id {
		fd.close()
		err = ErrReplaced
	}
	return fd, err
}

// Changed returns the ctime of a file: the time of the last change of its content, link count,
// owner or permissions. Programs can set info.ModTime(), but not the ctime.
func Changed(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return changed(st)
}

// lockMemory locks pages of a mapping in memory.
func lockMemory(b []byte) error { return unix.Mlock(b) }

func unlockMemory(b []byte) { _ = unix.Munlock(b) }

// lockLimit returns the RLIMIT_MEMLOCK of the process for errors.
func lockLimit() string {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return ""
	}
	return fmt.Sprintf(" is %d for the process", limit.Cur)
}
