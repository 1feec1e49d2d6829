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

func drop(*os.File) error { return errors.ErrUnsupported }
