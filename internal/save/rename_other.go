//go:build !windows

package save

import "os"

func move(from, to string) error { return os.Rename(from, to) }
