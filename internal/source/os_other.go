//go:build !linux && !darwin

package source

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"time"
)

// descriptors is empty: open descriptors have no names, or cannot be mapped by them.
const descriptors = ""

// NoWait is 0: these systems do not need or have such a flag.
const NoWait = 0

func readAhead(int, int64, int64) {}

func isCached(int, [][]byte, int64) bool { return true }

func willNeed([]byte, int, int) error { return nil }

func populate([]byte, int, int) {}

func forget([]byte) error { return nil }

// Changed returns the modification time, since the ctime is not available.
func Changed(info fs.FileInfo) time.Time { return info.ModTime() }

func idOfFile(fs.FileInfo) ID { return ID{} }

func protect([]byte) bool { return false }

func noMapping(error) bool { return false }

// openName checks the type of the file before it opens it, since opening a pipe would block.
func (r *Region) openName(path string, o Options) error {
	stat := os.Stat
	if o.NoLink {
		stat = os.Lstat
	}
	info, err := stat(path)
	if err != nil {
		return r.fail(-1, err)
	}
	if err := r.regular(info.Mode()); err != nil {
		return err
	}
	if info.Size() <= math.MaxInt {
		err := r.load(path, &o)
		if !lacks(err) {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if info, err = f.Stat(); err == nil {
		err = r.regular(info.Mode())
	}
	if err != nil {
		f.Close()
		return err
	}
	r.readOn(f, 0, info.Size(), &o)
	return nil
}

// duplicate opens the same file again.
func duplicate(f *os.File) (*os.File, error) {
	was, err := f.Stat()
	if err != nil {
		return nil, err
	}
	own, err := os.Open(f.Name())
	if err != nil {
		return nil, err
	}
	now, err := own.Stat()
	if err == nil && !os.SameFile(was, now) {
		err = ErrReplaced
	}
	if err != nil {
		own.Close()
		return nil, err
	}
	return own, nil
}

// Files are not parsed through a descriptor.
func pread(int, []byte, int64) (int, error) { return 0, errors.ErrUnsupported }

func closeFile(int) {}

func resident([]byte, int, int) int64 { return -1 }

func lockMemory([]byte) error { return ErrNoLock }

func unlockMemory([]byte) {}

func lockLimit() string { return "" }
