//go:build !linux

package source

import (
	"errors"
	"os"
)

// Peeks reports whether Peek is supported.
const Peeks = false

// Peek is not supported.
func Peek(*os.File, string, []byte) (int, ID, error) { return 0, ID{}, errors.ErrUnsupported }
