package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// evict drops files that are on disk from the page cache.
func evict(paths []string) error {
	for _, path := range paths {
		err := with(path, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) })
		if err != nil {
			return err
		}
	}
	return nil
}

// evicts tells whether that works here: files in memory stay, and so do pages that
// somebody has mapped.
func evicts(path string) bool {
	if evict([]string{path}) != nil {
		return false
	}
	err := with(path, func(fd int) error {
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
