//go:build unix

package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPermissions: a new file gets what the umask leaves, and a replacement
// what the old file had.
func TestPermissions(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "m.mag")
	mode := func(want fs.FileMode) {
		t.Helper()
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("mode %v, %v, want %v", st.Mode(), err, want)
		}
	}
	replace(t, path, "new", false)
	mode(0o640)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	replace(t, path, "newer", false)
	mode(0o600)
	if err := os.Chmod(path, 0o664); err != nil {
		t.Fatal(err)
	}
	replace(t, path, "newest", false)
	mode(0o664)
}

// TestPipe: what is not a regular file is refused without waiting for it.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if f, err := CreateFile(path); !errors.Is(err, os.ErrInvalid) {
		if err == nil {
			f.Abort()
		}
		t.Errorf("a pipe: %v", err)
	}
}

// TestSymbolicLinkToNothing: a link without a file behind it shows where the
// new file belongs.
func TestSymbolicLinkToNothing(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("m.mag", link); err != nil {
		t.Fatal(err)
	}
	replace(t, link, "new", false)
	mustRead(t, filepath.Join(dir, "m.mag"), "new")
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", st, err)
	}
}

// TestSymbolicLinkInCircles ends.
func TestSymbolicLinkInCircles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.Symlink("b", a), os.Symlink("a", b)); err != nil {
		t.Fatal(err)
	}
	if f, err := CreateFile(a); err == nil {
		f.Abort()
		t.Error("a link that leads to itself was followed somewhere")
	}
}
