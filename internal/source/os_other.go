//go:build !linux && !darwin

package source

import (
	"errors"
	"os"
)

// descriptors is empty: no name leads to an open descriptor, or nothing maps it.
const descriptors = ""

// NoWait is a flag of os.OpenFile that these systems do not need, or have.
const NoWait = 0

func willNeed([]byte, int, int) error { return nil }

func forget([]byte) error { return nil }

func protect([]byte) bool { return false }

func noMapping(error) bool { return false }

func noRoom(error) bool { return false }

// openName looks at the file before it opens it: opening a pipe would wait for its other end.
func (r *Region) openName(path string, o Options) error {
	stat := os.Stat
	if o.NoLink {
		stat = os.Lstat
	}
	info, err := stat(path)
	if err != nil {
		return r.fail(-1, err)
	}
	if err := r.suits(info.Mode(), info.Size()); err != nil {
		return err
	}
	return r.load(path, o)
}

// No file is held open while it is parsed.
func pread(int, []byte, int64) (int, error) { return 0, errors.ErrUnsupported }

func closeFile(int) {}

func resident([]byte, int, int) int64 { return -1 }
