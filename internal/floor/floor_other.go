//go:build !linux

package floor

import (
	"errors"
	"os"

	"golang.org/x/exp/mmap"
)

// Map opens, maps, unmaps and closes a file.
func Map(path string) error {
	r, err := mmap.Open(path)
	if err != nil {
		return err
	}
	return r.Close()
}

// Load reads a file and every byte of it.
func Load(path string) error {
	data, err := os.ReadFile(path)
	Read(data)
	return err
}

// Drop takes a file out of the system's cache, which is not known how here.
func Drop(*os.File) error { return errors.ErrUnsupported }

// DiskFree returns how many bytes a program may write below dir, and whether
// that is known.
func DiskFree(string) (int64, bool) { return 0, false }
