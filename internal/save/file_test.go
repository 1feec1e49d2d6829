package save

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

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
