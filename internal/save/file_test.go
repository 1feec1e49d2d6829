package save

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/internal/testhost"
)

// entries returns the names in a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func mustWrite(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
}

// wantFiles demands that a directory has these files and no others.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, contents(t, dir)); d != "" {
		t.Errorf("%s (-want +got)\n%s", filepath.Base(dir), d)
	}
}

// replace writes text to path and commits it.
func replace(t *testing.T, path, text string, sync bool) {
	t.Helper()
	f, err := CreateFile(path)
	must(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	must(t, err)
	must(t, f.Commit(sync))
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
	must(t, os.Mkdir(real, 0o755))
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join("real", "m.mag"), link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	mustWrite(t, filepath.Join(real, "m.mag"), "old", 0o644)
	replace(t, link, "new", false)
	wantFiles(t, real, map[string]string{"m.mag": "new"})
	if st, err := os.Lstat(link); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", st, err)
	}
}
