//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lockElsewhere keeps other processes out, on file systems that lock directories.
func lockElsewhere(dir string, end time.Time) (unlock func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	wait(end, func() bool {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		return !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)
	})
	return func() { _ = f.Close() }
}
