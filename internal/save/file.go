package save

import (
	"bufio"
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
	f       *os.File
	buf     *bufio.Writer // nil once closed
	at      int64         // offset of buf
	end     int64         // end of all data written
	final   string
	unnamed bool // it is in place or, as a spool, unlinked
}

// CreateFile starts the replacement of path, which need not exist. It follows symbolic links and
// refuses anything but a regular file. The new file gets the owner and permissions of the old one as
// far as the system allows; without an old file, the umask applies. It first removes the files that
// killed writers of path left.
func CreateFile(path string) (*File, error) {
	final, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	old, err := os.Stat(final)
	if err == nil && !old.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return CreateLike(final, old)
}

// CreateLike is CreateFile for a path without symbolic links. The new file gets the owner and
// permissions of old, which may be nil.
func CreateLike(path string, old fs.FileInfo) (*File, error) {
	sweep(path, 0, Remove)
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until it has the owner and permissions of old
	}
	f, err := create(temporary(path), mode)
	if err != nil {
		return nil, err
	}
	f.final = path
	inherit(f.f, old)
	return f, nil
}

// inherit gives f the owner and permissions of old, regardless of the umask. If the group cannot be
// set, the new group gets at most the permissions of others. Errors are ignored: they come from file
// systems without permissions.
func inherit(f *os.File, old fs.FileInfo) {
	if old == nil || before("inherit", f.Name()) != nil {
		return
	}
	mode := old.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	if !keepOwner(f, old) {
		mode = mode&^(0o070|fs.ModeSetgid) | mode&0o007<<3
	}
	_ = f.Chmod(mode)
}

// Resolve follows symbolic links. The path may not exist, but a link must lead to something.
func Resolve(path string) (string, error) {
	final, err := filepath.EvalSymlinks(path)
	if _, there := os.Lstat(path); errors.Is(there, fs.ErrNotExist) {
		return path, nil
	}
	return final, err
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
	f.unnamed = err == nil
	f.Abort()
	return err
}

// durably makes the new names in a directory durable.
func durably(dir string) error {
	if err := SyncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", driver.ErrNotDurable, err)
	}
	return nil
}

// Abort removes the temporary file, unless it is in place.
func (f *File) Abort() {
	_ = f.close()
	if !f.unnamed {
		_ = Remove(f.Name())
	}
}
