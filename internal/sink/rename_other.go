//go:build !windows

package sink

import "os"

func move(from, to string) error { return os.Rename(from, to) }
