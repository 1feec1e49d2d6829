package floor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Evict drops files that are on disk from the page cache.
func Evict(paths []string) error {
	for _, path := range paths {
		err := with(path, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Evicts reports whether Evict works for a file at path. It does not in a memory file system, nor for
// pages that a process has mapped.
func Evicts(path string) bool {
	err := with(path, func(fd int) error {
		if err := unix.Fsync(fd); err != nil {
			return err
		}
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		_, err := unix.Preadv2(fd, [][]byte{make([]byte, 1)}, 0, unix.RWF_NOWAIT)
		return err
	})
	return errors.Is(err, unix.EAGAIN)
}

func with(path string, do func(fd int) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(int(f.Fd()))
}
