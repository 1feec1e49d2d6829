package save

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format/driver"
)

// File is a Target in a temporary file next to the file it will replace. The replacement is one
// rename: readers see the old file or the new one, and mappings of the old file stay valid.
type File struct {
	*handle
	final string
	held  *os.File // holds the lock on the temporary file; nil if it is not locked
}

// CreateFile starts the replacement of path, which need not exist. It follows symbolic links and
// refuses anything but a regular file. The new file gets the owner and permissions of the old one as
// far as the system allows; without an old file, the umask applies. It first removes the files that
// killed writers left.
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

// CreateLike is CreateFile for a path without symbolic links. The new file gets the owner and
// permissions of old, which may be nil.
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

// newMode returns the permissions to create a file with. While inherit has not yet set the owner of
// old, they grant only the owner's permissions.
func newMode(old fs.FileInfo) fs.FileMode {
	if old == nil {
		return 0o666
	}
	return old.Mode().Perm()&0o700 | 0o400 // locking needs read permission
}

// inherit gives f the owner and permissions of old, regardless of the umask. If the group cannot be
// set, the new group gets at most the permissions of others. Errors are ignored: they come from file
// systems without permissions.
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

// Resolve follows symbolic links. The last one may point to a path that does not exist.
func Resolve(path string) (string, error) {
	const most = 40 // Linux's limit
	for range most {
		final, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return final, err
		}
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // path does not exist
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

// Commit renames the file into place and, with sync, makes it durable. An error that wraps
// driver.ErrNotDurable means that the file is in place but may not survive a crash. After any other
// error the temporary file is gone and the old file is untouched.
func (f *File) Commit(sync bool) error {
	if err := f.CommitAs(f.final, sync); err != nil || !sync {
		return err
	}
	return durably(filepath.Dir(f.final))
}

// CommitAs is Commit under another name in the same directory. With sync it syncs the content, but not
// the directory.
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

// release unlocks the temporary file after it was renamed or removed.
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
