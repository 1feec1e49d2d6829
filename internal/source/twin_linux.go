package source

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// cloneFile is the system call that makes one file share another's bytes, for tests to replace.
var cloneFile = unix.IoctlFileClone

// clone returns an unlinked file next to f that shares its bytes, where the file system can
// do that. What is written to either later is not seen in the other.
func clone(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var c *os.File
	cerr := raw.Control(func(fd uintptr) { c, err = cloneOf(int(fd)) })
	if cerr != nil {
		return nil, cerr
	}
	return c, err
}

func cloneOf(fd int) (*os.File, error) {
	name, err := os.Readlink(nameOf(fd))
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(strings.TrimSuffix(name, " (deleted)"))
	// It has no name, and gets none: the directory does not change.
	to, err := unix.Open(dir, unix.O_RDWR|unix.O_TMPFILE|unix.O_EXCL|unix.O_CLOEXEC|unix.O_LARGEFILE, 0o600)
	if err != nil {
		return nil, err
	}
	c := os.NewFile(uintptr(to), name)
	if err := cloneFile(to, fd); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// memoryFile returns a file that is memory. Android ends processes for system calls that
// it does not know, and this one is not known everywhere.
func memoryFile() (*os.File, error) {
	if runtime.GOOS == "android" {
		return nil, unix.ENOSYS
	}
	fd, err := unix.MemfdCreate("weightmap", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("weightmap", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "memory"), nil
}

// seal keeps everybody from changing a file that is memory.
func seal(f *os.File) {
	const all = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	_, _ = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, all) // nobody else has it open, unless they look for it
}
