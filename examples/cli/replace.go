package cli

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Replace calls f with a new file that takes the place of the one at path, if any, when f succeeds.
// After an error nothing has changed. The new file has the permissions of the old one, and takes
// the place of what a link leads to.
func Replace(path string, f func(io.Writer) error) error {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		path = resolved
	}
	old, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != nil && !old.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: %w", path, os.ErrInvalid)
	}
	dir, base := filepath.Split(path)
	name := dir + "." + base + "." + strings.ToLower(rand.Text()[:8]) + ".tmp"
	err = fill(name, old, f)
	if err != nil {
		return err
	}
	err = os.Rename(name, path)
	if err != nil {
		os.Remove(name)
		return err
	}
	return nil
}

// fill creates a file and writes its content to the disk. After an error it removes the file.
func fill(name string, old os.FileInfo, f func(io.Writer) error) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			os.Remove(name)
		}
	}()
	if old != nil {
		err := file.Chmod(old.Mode().Perm())
		if err != nil {
			return err
		}
	}
	w := bufio.NewWriter(file)
	err = f(w)
	if err != nil {
		return err
	}
	err = w.Flush()
	if err != nil {
		return err
	}
	return file.Sync()
}
