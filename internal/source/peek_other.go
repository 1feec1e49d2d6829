//go:build !linux

package source

import (
	"errors"
	"os"
)

// Peeks reports whether Peek works here.
const Peeks = false

// Peek does not.
func Peek(*os.File, string, []byte) (int, ID, error) { return 0, ID{}, errors.ErrUnsupported }
