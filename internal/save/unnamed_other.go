//go:build !linux

package save

import (
	"errors"
	"os"
)

// unnamed files are Linux's alone.
var unnamed = func(dir string) (*os.File, error) { return nil, errors.ErrUnsupported }
