//go:build !linux && !darwin

package source

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/weightmap/weightmap/internal/pass"
)

// NoWait is 0: these systems do not need or have such a flag.
const NoWait = 0

// Reopen is not supported.
func (r *Region) Reopen() (pass.Reopened, error) { return nil, errors.ErrUnsupported }

// descriptor is not used: files are not parsed through a descriptor.
type descriptor int

func (descriptor) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

func (descriptor) close() {}

// File is not used: directories open an os.File.
type File struct{ os.File }

// Info returns nil.
func (*File) Info() fs.FileInfo { return nil }

// Keep does nothing.
func (*File) Keep() {}

func (*File) region(*Options) (*Region, error) { return nil, errors.ErrUnsupported }

func protect([]byte) bool { return false }

func lockMemory([]byte) error { return ErrNoLock }

func unlockMemory([]byte) {}

func lockLimit() string { return "" }

// Changed returns the modification time, since the ctime is not available.
func Changed(info fs.FileInfo) time.Time { return info.ModTime() }

// StampOf returns the Stamp of a file's status.
func StampOf(info fs.FileInfo) Stamp {
	// Windows reads what identifies a file lazily, by its name. This call makes it do so now.
	os.SameFile(info, info)
	return Stamp{size: info.Size(), mtime: info.ModTime(), info: info}
}

// openName maps the file at path. It checks the type before it opens the file, since opening a pipe
// would block.
func (r *Region) openName(path string, o *Options) error {
	if _, err := regular(os.Stat(path)); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := regular(f.Stat())
	if err != nil {
		return err
	}
	return r.openFile(f, info, 0, toEnd, o)
}

// openFile is OpenFile. It maps f by its path if that is still the same file, or reads it if it
// must be private.
func (r *Region) openFile(f *os.File, info fs.FileInfo, off, size int64, o *Options) error {
	size, err := window(off, size, info.Size())
	if err != nil {
		return err
	}
	r.stamp = StampOf(info)
	if o.Private {
		return r.readPrivate(f, off, size, o, func() (Stamp, error) { return stampOfFile(f) })
	}
	isSame := func() error {
		now, err := os.Stat(f.Name())
		if err == nil && !os.SameFile(info, now) {
			err = ErrReplaced
		}
		return err
	}
	if info.Size() <= math.MaxInt {
		err := r.mapPath(f.Name(), off, size, isSame)
		if err != nil && !noRoom(err) {
			err = r.readWindow(f, off, size, o)
		}
		if !lacks(err) {
			return err
		}
	}
	own, err := os.Open(f.Name())
	if err != nil {
		return err
	}
	if err := isSame(); err != nil {
		own.Close()
		return err
	}
	r.readOnDemand(own, off, size)
	return nil
}
