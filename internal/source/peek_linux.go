package source

import (
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// Peek reads the first len(p) bytes of a regular file in an open directory, or all of a
// shorter one, and returns their number and the ID of the file. It does not follow links.
func Peek(dir *os.File, name string, p []byte) (n int, id ID, err error) {
	const flags = syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC | syscall.O_NOFOLLOW
	fd, err := syscall.Openat(int(dir.Fd()), name, flags, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Openat(int(dir.Fd()), name, flags, 0)
	}
	runtime.KeepAlive(dir)
	if err != nil {
		return 0, ID{}, unopened(name, err)
	}
	defer syscall.Close(fd)
	n, id, err = peek(fd, p)
	if e, ok := err.(syscall.Errno); ok {
		err = &fs.PathError{Op: "read", Path: name, Err: e}
	}
	return n, id, err
}

func peek(fd int, p []byte) (n int, id ID, err error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return 0, ID{}, err
	}
	if m := modeOf(st.Mode); m != 0 {
		return 0, ID{}, &kindError{m}
	}
	for n < len(p) {
		k, err := pread(fd, p[n:], int64(n))
		if err != nil {
			return n, ID{}, err
		}
		if k == 0 {
			break
		}
		n += k
	}
	return n, idOf(&st), nil
}

// Peeks reports whether Peek is supported.
const Peeks = true
