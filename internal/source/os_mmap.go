//go:build linux || darwin

package source

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// NoWait is a flag of os.OpenFile: it does not wait for the other end of a pipe.
const NoWait = syscall.O_NONBLOCK

// protect makes a whole mapping inaccessible and reports whether it did.
func protect(mem []byte) bool { return syscall.Mprotect(mem, syscall.PROT_NONE) == nil }

// noMapping reports whether err says that the file system cannot map files.
func noMapping(err error) bool { return errors.Is(err, syscall.ENODEV) }

// noRoom reports whether err says that the process cannot have another mapping.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOMEM) }

// openName maps the file at path. It is held by a descriptor of its own, which waits
// for nobody, while it is looked at, and then mapped by the name of that: another
// that takes its place in between, such as a pipe, is not met at all. Where there is no
// such name (a system without /proc) the file is opened by its own once more.
func (r *Region) openName(path string, o Options) error {
	flags := look | syscall.O_CLOEXEC
	if o.NoLink {
		flags |= syscall.O_NOFOLLOW
	}
	fd, err := syscall.Open(path, flags, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(path, flags, 0)
	}
	if err != nil {
		// Some systems open no sockets and, without following, no links.
		if err := r.mappable(path, o.NoLink); err != nil {
			return err
		}
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := r.suits(modeOf(uint32(st.Mode)), st.Size); err != nil {
		return err
	}
	err = r.load(nameOf(fd), o)
	if errors.Is(err, fs.ErrNotExist) {
		err = r.load(path, o)
	}
	if err != nil {
		err = renamed(err, path)
	}
	return err
}

// renamed gives a file the name in an error that the caller knows it by.
func renamed(err error, path string) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	return err
}

// modeOf returns what kind of file a mode of the system's is.
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
