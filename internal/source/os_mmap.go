//go:build linux || darwin

package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// NoWait is a flag for os.OpenFile, which then does not block on a pipe.
const NoWait = syscall.O_NONBLOCK

// protect makes a whole mapping inaccessible and reports whether it did.
func protect(mem []byte) bool { return syscall.Mprotect(mem, syscall.PROT_NONE) == nil }

// noMapping reports whether err says that the file system cannot map files.
func noMapping(err error) bool { return errors.Is(err, syscall.ENODEV) }

// noRoom reports whether err says that the process cannot have another mapping.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOMEM) }

// openName maps the file at path. Opening never blocks, and the open file must be regular. It
// maps the descriptor by its name, and parsing reads from the descriptor, so that replacing the
// file has no effect. If descriptors have no names (a system without /proc), it maps the file by
// path, and parsing reads the mapping.
func (r *Region) openName(path string, o Options) error {
	flags := syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC
	if o.NoLink {
		flags |= syscall.O_NOFOLLOW
	}
	fd, err := syscall.Open(path, flags, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(path, flags, 0)
	}
	if err != nil {
		return unopened(path, err)
	}
	r.head.open(fd)
	err = r.mapOpen(path, &o)
	if err != nil || !o.Parse || !r.Mapped() && !r.OnDemand() {
		r.head.close()
	}
	return err
}

// unopened returns the error for a path that cannot be opened: a link that is not followed, a socket, or a file.
func unopened(path string, err error) error {
	switch err {
	case syscall.ELOOP:
		return &kindError{fs.ModeSymlink}
	case syscall.ENXIO, syscall.EOPNOTSUPP:
		return &kindError{fs.ModeSocket}
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// mapOpen maps the open file of the head, or keeps it open to read it on demand.
func (r *Region) mapOpen(path string, o *Options) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(r.head.fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := r.regular(modeOf(uint32(st.Mode))); err != nil {
		return err
	}
	if err := o.Same.check(idOf(&st)); err != nil {
		return err
	}
	r.id = idOf(&st)
	if st.Size <= math.MaxInt {
		err := r.load(nameOf(r.head.fd), o)
		if errors.Is(err, fs.ErrNotExist) {
			if err = r.load(path, o); err == nil {
				r.head.close() // it may be another file
				r.id = ID{}
			}
		}
		if !lacks(err) {
			return renamed(err, path)
		}
	}
	f := os.NewFile(uintptr(r.head.fd), path)
	r.head = head{fd: -1}
	r.readOn(f, 0, st.Size, o)
	return nil
}

// duplicate returns another descriptor of the same file.
func duplicate(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	own := -1
	cerr := raw.Control(func(fd uintptr) { own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err = cmp.Or(cerr, err); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), f.Name()), nil
}

// pread reads from an open file, as pread(2) does.
func pread(fd int, p []byte, off int64) (n int, err error) {
	for {
		if n, err = syscall.Pread(fd, p, off); err != syscall.EINTR {
			return n, err
		}
	}
}

func closeFile(fd int) { syscall.Close(fd) }

// renamed replaces the path in an error by the caller's path.
func renamed(err error, path string) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	return err
}

// modeOf returns the file type of a system's mode.
func modeOf(mode uint32) fs.FileMode {
	switch mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return 0
	case syscall.S_IFDIR:
		return fs.ModeDir
	case syscall.S_IFLNK:
		return fs.ModeSymlink
	case syscall.S_IFIFO:
		return fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		return fs.ModeSocket
	case syscall.S_IFBLK, syscall.S_IFCHR:
		return fs.ModeDevice
	}
	return os.ModeIrregular
}

// idOfFile returns the ID for a FileInfo of package os.
func idOfFile(info fs.FileInfo) ID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return idOf(st)
	}
	return ID{}
}

// Changed returns the ctime of a file: the time of the last change of its content, link count, owner or
// permissions. Programs can set info.ModTime(), but not the ctime.
func Changed(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return time.Unix(changed(st))
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
