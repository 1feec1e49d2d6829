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

// Load reads every byte of a file.
func Load(path string) error {
	data, err := os.ReadFile(path)
	Read(data)
	return err
}

func drop(*os.File) error { return errors.ErrUnsupported }
