package save

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/testhost"
)

// entries returns the names in a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func mustWrite(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s = %q, %v, want %q", filepath.Base(path), b, err, want)
	}
}

// replace writes text to path and commits it.
func replace(t *testing.T, path, text string, sync bool) {
	t.Helper()
	f, err := CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(sync); err != nil {
		t.Fatal(err)
	}
}

// TestOldFileUntilCommit: the new file appears at Commit; until then the temporary file is hidden in
// the same directory.
func TestOldFileUntilCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.mag")
	mustWrite(t, path, "old", 0o644)
	f, err := CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("new"), 0)
	mustRead(t, path, "old")
	if name := filepath.Base(f.Name()); filepath.Dir(f.Name()) != dir || !strings.HasPrefix(name, ".m.mag.") || !strings.HasSuffix(name, ".tmp") {
		t.Errorf("the temporary file is %s", f.Name())
	}
	f.Abort()
	mustRead(t, path, "old")
	if names := entries(t, dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// TestCommitFails makes the directory read-only, or blocks the target's path, after the file was
// started.
func TestCommitFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.mag")
	f, err := CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A directory that is not empty cannot be replaced.
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(true); err == nil {
		t.Error("a file took the place of a directory")
	}
	if names := entries(t, dir); len(names) != 1 || names[0] != "m.mag" {
		t.Errorf("left behind: %v", names)
	}
	f, err = CreateFile(filepath.Join(dir, "n.mag"))
	if err != nil {
		t.Fatal(err)
	}
	f.f.Close()
	if err := f.Commit(true); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Commit of a closed file = %v", err)
	}
	if names := entries(t, dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "file"), "x", 0o644)
	for name, path := range map[string]string{
		"directory":            dir,
		"no such directory":    filepath.Join(dir, "none", "f"),
		"below a regular file": filepath.Join(dir, "file", "f"),
		"device":               os.DevNull,
	} {
		if f, err := CreateFile(path); err == nil {
			f.Abort()
			t.Errorf("%s: no error", name)
		}
	}
	if names := entries(t, dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// TestSymbolicLink: the link's target is replaced and the link stays.
func TestSymbolicLink(t *testing.T) {
	testhost.NeedLinks(t)
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join("real", "m.mag"), link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	mustWrite(t, filepath.Join(real, "m.mag"), "old", 0o644)
	replace(t, link, "new", false)
	mustRead(t, filepath.Join(real, "m.mag"), "new")
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", st, err)
	}
	if names := entries(t, real); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// TestSpool: a spool leaves no file behind, and has no name where the system allows it.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	s, err := newSpool(driver.SpoolFile)
	if err != nil {
		t.Fatal(err)
	}
	if names := entries(t, dir); runtime.GOOS != "windows" && len(names) != 0 {
		t.Errorf("a spool has the names %q", names)
	}
	s.Remove()
	if names := entries(t, dir); len(names) != 0 {
		t.Errorf("left behind: %q", names)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	if s, err := newSpool(driver.SpoolFile); err == nil {
		s.Remove()
		t.Error("a spool in a directory that does not exist")
	}
}
