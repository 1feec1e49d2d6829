//go:build !linux && !darwin

package save

import (
	"errors"
	"os"
)

// lockable is false: here what is left goes by its age.
func lockable(string) bool { return false }

func claim(string) (*os.File, error) { return nil, errors.ErrUnsupported }
