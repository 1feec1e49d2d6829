package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format/driver"
)

// onlyText allows directories of text files to be replaced.
func onlyText(dir string) error {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		if !strings.HasSuffix(e.Name(), ".txt") {
			return fmt.Errorf("%s: %w", e.Name(), fs.ErrExist)
		}
	}
	return err
}

// assemble replaces the directory at path by one with a file.
func assemble(path, name, text string, sync bool) error {
	d, err := CreateDir(path, onlyText)
	if err != nil {
		return err
	}
	err = d.Write(name, sync, func(t Target) error {
		_, err := t.WriteAt([]byte(text), 0)
		return err
	})
	if err == nil {
		err = d.Commit(sync)
	}
	return errors.Join(err, d.Abort())
}

// tree makes a directory with files.
func tree(t *testing.T, path string, files map[string]string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		mustWrite(t, filepath.Join(path, name), text, 0o644)
	}
}

// in runs a test with and without the exchange of directories.
func in(t *testing.T, f func(t *testing.T)) {
	t.Run("as the system has it", f)
	t.Run("in two steps", func(t *testing.T) {
		SetHook(func(call, _ string) error {
			if call == CallExchange {
				return errors.ErrUnsupported
			}
			return nil
		})
		defer SetHook(nil)
		f(t)
	})
}

func TestDir(t *testing.T) {
	in(t, func(t *testing.T) {
		for _, sync := range []bool{false, true} {
			parent := t.TempDir()
			path := filepath.Join(parent, "m")
			for i, name := range []string{"a.txt", "b.txt", "b.txt"} {
				text := fmt.Sprint("text ", i)
				if err := assemble(path, name, text, sync); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]string{name}, entries(t, path)); d != "" {
					t.Error(d)
				}
				mustRead(t, filepath.Join(path, name), text)
			}
			if d := cmp.Diff([]string{"m"}, entries(t, parent)); d != "" {
				t.Error(d)
			}
		}
	})
}

// TestExchange: on Linux the old directory is never away.
func TestExchange(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories are exchanged on Linux only")
	}
	path := filepath.Join(t.TempDir(), "m")
	tree(t, path, map[string]string{"a.txt": "old"})
	n := failing(t, CallRename)
	if err := assemble(path, "b.txt", "new", false); err != nil {
		t.Skip("this file system cannot exchange directories: ", err)
	}
	if *n != 0 {
		t.Errorf("%d renames", *n)
	}
	mustRead(t, filepath.Join(path, "b.txt"), "new")
}

// TestDirAtOnce: another directory came where there was none.
func TestDirAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory in place is another error there")
	}
	parent := t.TempDir()
	path := filepath.Join(parent, "m")
	defer SetHook(nil)
	SetHook(func(call, to string) error {
		if call == CallRename && to == path {
			SetHook(nil)
			return assemble(path, "a.txt", "first", false)
		}
		return nil
	})
	if err := assemble(path, "b.txt", "second", false); err != nil {
		t.Fatal(err)
	}
	mustRead(t, filepath.Join(path, "b.txt"), "second")
	if d := cmp.Diff([]string{"m", "b.txt"}, append(entries(t, parent), entries(t, path)...)); d != "" {
		t.Error(d)
	}
}

// TestDirRefusedLate: a file that is not ours came while the new directory was made.
func TestDirRefusedLate(t *testing.T) {
	in(t, func(t *testing.T) {
		parent := t.TempDir()
		path := filepath.Join(parent, "m")
		tree(t, path, map[string]string{"mine.doc": "x"})
		if err := assemble(path, "b.txt", "new", false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v, want %v", err, fs.ErrExist)
		}
		mustRead(t, filepath.Join(path, "mine.doc"), "x")
		if d := cmp.Diff([]string{"m"}, entries(t, parent)); d != "" {
			t.Error(d)
		}
	})
}

// TestSetAside: a directory that was moved away is found, until something else is in its place.
func TestSetAside(t *testing.T) {
	parent := t.TempDir()
	path, aside := filepath.Join(parent, "m"), filepath.Join(parent, ".m.weightmap-old")
	if at, ok := SetAside(path); ok {
		t.Errorf("%s of nothing", at)
	}
	tree(t, aside, map[string]string{"a.txt": "old"})
	for _, p := range []string{path, path + string(filepath.Separator)} {
		if at, ok := SetAside(p); at != aside || !ok {
			t.Errorf("%s, %v", at, ok)
		}
	}
	if err := Restore(path); err != nil {
		t.Fatal(err)
	}
	mustRead(t, filepath.Join(path, "a.txt"), "old")
	tree(t, aside, map[string]string{"a.txt": "older"})
	if at, ok := SetAside(path); ok {
		t.Errorf("%s although there is something", at)
	}
	// The next writer without an exchange needs the name.
	SetHook(func(call, _ string) error {
		if call == CallExchange {
			return errors.ErrUnsupported
		}
		return nil
	})
	defer SetHook(nil)
	if err := assemble(path, "a.txt", "new", false); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"m"}, entries(t, parent)); d != "" {
		t.Error(d)
	}
	mustRead(t, filepath.Join(path, "a.txt"), "new")
	mustWrite(t, aside, "a file", 0o644)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if at, ok := SetAside(path); ok {
		t.Errorf("%s, a file", at)
	}
}

// TestDirNotDurable: as of a file that was replaced, nothing stays of the old directory when it is not known whether the new
// one will.
func TestDirNotDurable(t *testing.T) {
	in(t, func(t *testing.T) {
		parent := t.TempDir()
		path := filepath.Join(parent, "m")
		tree(t, path, map[string]string{"a.txt": "old"})
		f := hook.Load()
		SetHook(func(call, at string) error {
			if call == CallSyncDir && at == parent {
				return errInjected
			}
			if f != nil {
				return (*f)(call, at)
			}
			return nil
		})
		defer SetHook(nil)
		if err := assemble(path, "b.txt", "new", true); !errors.Is(err, driver.ErrNotDurable) {
			t.Errorf("%v, want ErrNotDurable", err)
		}
		mustRead(t, filepath.Join(path, "b.txt"), "new")
		if d := cmp.Diff([]string{"m"}, entries(t, parent)); d != "" {
			t.Error(d)
		}
	})
}

// TestSweepDir: the next writer of a directory removes what killed ones left, as far as
// it is theirs.
func TestSweepDir(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-25 * time.Hour)
	for name, file := range map[string]string{".m.0123456789ab.tmp": "a.txt", ".m.0123456789ac.tmp": "a.doc", ".n.0123456789ab.tmp": "a.txt", ".m.0123456789ad.tmp": "young.txt"} {
		path := filepath.Join(parent, name)
		tree(t, path, map[string]string{file: "left"})
		if file != "young.txt" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := assemble(filepath.Join(parent, "m"), "a.txt", "new", false); err != nil {
		t.Fatal(err)
	}
	want := []string{".m.0123456789ac.tmp", ".m.0123456789ad.tmp", ".n.0123456789ab.tmp", "m"}
	if d := cmp.Diff(want, entries(t, parent)); d != "" {
		t.Error(d)
	}
}

// TestDirFillPanics: of a file that was not filled nothing stays open.
func TestDirFillPanics(t *testing.T) {
	d, err := CreateDir(filepath.Join(t.TempDir(), "d"), onlyText)
	if err != nil {
		t.Fatal(err)
	}
	var file Target
	func() {
		defer func() {
			if r := recover(); r != "the caller's" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = d.Write("a.txt", false, func(f Target) error {
			file = f
			panic("the caller's")
		})
	}()
	if _, err := file.WriteAt([]byte("a"), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
}
