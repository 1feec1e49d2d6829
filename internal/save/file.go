package save

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format/driver"
)

// File is a Target in a temporary file next to the one it will replace, so that
// the replacement is one rename: readers see the old file or the new one,
// and a mapping of the old one is not disturbed.
type File struct {
	*handle
	final string
	held  *os.File // the lock on the temporary file, nil without one
}

// CreateFile starts the replacement of path, which need not exist. A symbolic
// link is followed; what is not a regular file is refused. The new file gets
// the owner and the permissions of the old one as far as the system allows, or what
// the umask leaves. What killed writers left is removed.
func CreateFile(path string) (*File, error) {
	final, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	old, err := os.Stat(final)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
	}
	return CreateLike(final, old)
}

// CreateLike is CreateFile for a path without links. The new file is to be like old, nil
// for none.
func CreateLike(path string, old fs.FileInfo) (*File, error) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	sweep(dir, base, false, Remove)
	f := &File{final: path}
	var err error
	f.held, err = temporary(dir, base, func(name string) (err error) {
		f.handle, err = create(name, newMode(old))
		return err
	}, func(name string) error {
		_ = f.close()
		return Remove(name)
	})
	if err != nil {
		return nil, err
	}
	inherit(f.f, old)
	return f, nil
}

// newMode returns the permissions to create a file with: those that the umask
// limits, or, until it has its owner, what the old one's owner may.
func newMode(old fs.FileInfo) fs.FileMode {
	if old == nil {
		return 0o666
	}
	return old.Mode().Perm()&0o700 | 0o400 // to lock it
}

// inherit gives f the owner and the permissions of old, against the umask. Where the
// group cannot be kept, the one that takes its place may do no more than
// everybody else. File systems without permissions refuse this, and need it not.
func inherit(f *os.File, old fs.FileInfo) {
	if old == nil || before(CallInherit, f.Name()) != nil {
		return
	}
	mode := old.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	if !keepOwner(f, old) {
		mode = mode&^(0o070|fs.ModeSetgid) | mode&0o007<<3
	}
	_ = f.Chmod(mode)
}

// Resolve follows symbolic links, the last of which may point to nothing: then
// the file is to appear there.
func Resolve(path string) (string, error) {
	const most = 40 // as many as Linux follows
	for range most {
		final, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return final, err
		}
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, and nothing there yet
		}
		if !filepath.IsAbs(link) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: too many symbolic links: %w", path, os.ErrInvalid)
}

// Commit makes the file take the place of the old one. With sync it is on
// stable storage by then: an error that is driver.ErrNotDurable says that it is in
// place, but perhaps not for long. After any other failure the temporary file is
// gone and the old file as it was.
func (f *File) Commit(sync bool) error {
	if err := f.CommitAs(f.final, sync); err != nil || !sync {
		return err
	}
	return durably(filepath.Dir(f.final))
}

// CommitAs gives the file another name in the same directory. Its content is on stable
// storage then, with sync, its name once the directory is.
func (f *File) CommitAs(path string, sync bool) error {
	err := f.finish(sync)
	if err == nil {
		err = rename(f.Name(), path)
	}
	if err != nil {
		_ = Remove(f.Name())
	}
	f.release()
	return err
}

// release ends the lock on the temporary file, which has its final name or is gone.
func (f *File) release() {
	if f.held != nil {
		f.held.Close()
	}
}

// durably makes the new names in a directory durable.
func durably(dir string) error {
	if err := SyncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", driver.ErrNotDurable, err)
	}
	return nil
}

// Abort removes the temporary file.
func (f *File) Abort() {
	_ = f.close()
	_ = Remove(f.Name())
	f.release()
}
