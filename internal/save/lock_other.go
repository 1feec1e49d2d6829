//go:build !linux && !darwin

package save

import (
	"errors"
	"os"
)

// lockable returns false: on this system, leftovers are removed by age.
func lockable(string) bool { return false }

func claim(string) (*os.File, error) { return nil, errors.ErrUnsupported }
