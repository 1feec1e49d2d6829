package save

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unnamed opens a file in a directory that never has a name there, so that nothing is left
// of it whenever the process ends. Tests replace it.
var unnamed = func(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDWR|unix.O_TMPFILE|unix.O_EXCL|unix.O_CLOEXEC|unix.O_LARGEFILE, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(dir, "weightmap.spool")), nil
}
