//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// SyncDir makes the names in a directory durable. It reports no error where the file system cannot
// sync directories or the process may not read this one.
func SyncDir(dir string) error {
	if err := before(Call{Name: "sync directory", Path: dir}); err != nil {
		return err
	}
	err := syncDir(dir)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// keepOwner sets the owner and group of f to those of another file, as far as the system allows,
// and reports whether the group is the same.
func keepOwner(f *os.File, of fs.FileInfo) (group bool) {
	st, ok := of.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	// Changing the owner needs root, changing the group membership.
	return f.Chown(int(st.Uid), int(st.Gid)) == nil || f.Chown(-1, int(st.Gid)) == nil
}
