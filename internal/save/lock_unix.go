//go:build linux || darwin

package save

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockable reports whether every process that can access dir respects locks in it.
func lockable(dir string) bool {
	f, err := openToLock(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return isLocal(int(f.Fd()))
}

// claim locks the file or directory at path until the returned file is closed or the process exits. It
// returns errClaimed if another writer holds the lock.
func claim(path string) (*os.File, error) {
	if err := before(CallLock, path); err != nil {
		return nil, err
	}
	f, err := openToLock(path)
	if err != nil {
		return nil, err
	}
	if err = lock(int(f.Fd())); err == nil && !isAt(path, f) {
		err = errClaimed
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openToLock opens path without following symbolic links or blocking on a pipe.
func openToLock(path string) (*os.File, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func lock(fd int) error {
	for {
		switch err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errClaimed
		case err != syscall.EINTR:
			return fmt.Errorf("lock: %w", err)
		}
	}
}

// isAt reports whether path still names f: the last holder of the lock may have removed it.
func isAt(path string, f *os.File) bool {
	at, err := os.Lstat(path)
	is, failed := f.Stat()
	return err == nil && failed == nil && os.SameFile(at, is)
}
