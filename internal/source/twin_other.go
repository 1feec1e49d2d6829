//go:build !linux

package source

import (
	"errors"
	"os"
)

func clone(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

func memoryFile() (*os.File, error) { return nil, errors.ErrUnsupported }

func seal(*os.File) {}
