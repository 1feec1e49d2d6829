package disk

import (
	"errors"
	"fmt"
	"github.com/weightmap/weightmap/tensor"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// All changes to the disk are made in this file, in file.go and in mark.go.

// Mkdir creates a directory.
func Mkdir(name string, mode fs.FileMode) error {
	if err := before(Call{Name: "mkdir", Path: name}); err != nil {
		return err
	}
	return os.Mkdir(name, mode)
}

// MakeDirs creates a directory and its missing parents, and returns those it created.
func MakeDirs(name string) (made []string, err error) {
	if exists(name) {
		return nil, nil
	}
	made, err = MakeDirs(filepath.Dir(name))
	if err != nil {
		return made, err
	}
	err = Mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) { // created concurrently
		return made, nil
	}
	if err != nil {
		return made, err
	}
	return append(made, name), nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Rename renames a file or a directory.
func Rename(from, to string) error {
	if err := before(Call{Name: "rename", Path: to, From: from}); err != nil {
		return err
	}
	return rename(from, to)
}

func rename(from, to string) error {
	err := os.Rename(from, to)
	// On Windows this fails while another program has the old file open or mapped, often only for a
	// moment.
	for wait := time.Millisecond; isBusy(err) && wait < time.Second/2; wait *= 2 {
		time.Sleep(wait)
		err = os.Rename(from, to)
	}
	if isBusy(err) {
		return fmt.Errorf("%w (Windows replaces no file that is open or mapped: close its models, open them as copies, or write to another name)", err)
	}
	return err
}

// isBusy reports ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and ERROR_USER_MAPPED_FILE of
// Windows.
func isBusy(err error) bool {
	var code syscall.Errno
	return runtime.GOOS == "windows" && errors.As(err, &code) && (code == 5 || code == 32 || code == 1224)
}

// makeLink gives a file another name, unless there is a file with that name.
func makeLink(from, to string) error {
	if err := before(Call{Name: "link", Path: to, From: from}); err != nil {
		return err
	}
	return os.Link(from, to)
}

// touch makes a file as old as this moment.
func touch(name string) error {
	if err := before(Call{Name: "touch", Path: name}); err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(name, now, now)
}

// Remove deletes a file or an empty directory.
func Remove(name string) error {
	if err := before(Call{Name: "remove", Path: name}); err != nil {
		return err
	}
	return os.Remove(name)
}

// errReplaced means that another file has taken the place of the one to remove.
var errReplaced = errors.New("the file was replaced")

func checkSame(path string, old fs.FileInfo) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !isSame(info, old) {
		return errReplaced
	}
	return nil
}

// removeSame removes a file unless another one has taken its place. One that takes its place
// between the two steps, where tests make everything happen, is removed.
func removeSame(name string, old fs.FileInfo) error {
	if err := checkSame(name, old); err != nil {
		return err
	}
	return Remove(name)
}

// inherit gives f the owner and permissions of old, regardless of the umask. If the group cannot be
// set, the new group gets at most the permissions of others. Errors are ignored: they come from
// file systems without permissions.
func inherit(f *os.File, old fs.FileInfo) {
	if old == nil {
		return
	}
	if err := before(Call{Name: "inherit", Path: f.Name()}); err != nil {
		return
	}
	mode := old.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	if !keepOwner(f, old) {
		mode = mode&^(0o070|fs.ModeSetgid) | mode&0o007<<3
	}
	_ = f.Chmod(mode)
}

// settle makes the new names in a directory durable after the model is in place.
func settle(dir string) error {
	if err := SyncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", tensor.ErrNotDurable, err)
	}
	return nil
}
