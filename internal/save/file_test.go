package save

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// entries returns the names in a directory.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	expect.OK(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func mustWrite(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	expect.OK(t, os.WriteFile(path, []byte(text), mode))
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
	expect.OK(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	expect.OK(t, err)
	expect.OK(t, f.Commit(sync))
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
	expect.OK(t, os.Mkdir(real, 0o755))
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

// TestLongNames: every file name that the file system accepts can be written.
func TestLongNames(t *testing.T) {
	for name, base := range map[string]string{
		"255 bytes":      strings.Repeat("m", 251) + ".mag",
		"characters":     strings.Repeat("ü", 125) + ".mag",
		"just too long":  strings.Repeat("m", longest+1),
		"just fits":      strings.Repeat("m", longest),
		"a single byte":  "m",
		"begins hidden":  ".m",
		"looks like one": ".m.0123456789ab.tmp",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := CreateFile(filepath.Join(dir, base))
			expect.OK(t, err)
			temp := filepath.Base(f.Name())
			if len(temp) > longest+len("..")+digits+len(temporaryEnd) || !utf8.ValidString(temp) {
				t.Errorf("the temporary file is %q", temp)
			}
			if !IsTemporary(temp, base) || !IsTemporary(temp, "") || IsTemporary(temp, base+"x") {
				t.Errorf("%q is not told to belong to %q", temp, base)
			}
			expect.OK(t, f.Commit(false))
			expect.Equal(t, []string{base}, entries(t, dir))
		})
	}
	// Long names with a common prefix have different temporary names.
	long := strings.Repeat("m", 200)
	if Shorten(long+"a") == Shorten(long+"b") {
		t.Error("two long names have the same temporary ones")
	}
}

// TestSweep: the next writer of a file removes the leftovers of its killed writers, and nothing else.
func TestSweep(t *testing.T) {
	old, young := time.Now().Add(-25*time.Hour), time.Now().Add(-23*time.Hour)
	long := strings.Repeat("m", 150)
	for _, tt := range []struct {
		target, name string
		at           time.Time
		gone         bool
	}{
		{"m.mag", ".m.mag.0123456789ab.tmp", old, true},
		{"m.mag", ".m.mag.0123456789ab.tmp", young, false},
		{"m.mag", ".m.mag.0123456789ab.tmp", time.Now().Add(time.Hour), false},
		{"m.mag", ".n.mag.0123456789ab.tmp", old, false},
		{"m", ".m.mag.0123456789ab.tmp", old, false},
		{"mag", ".m.mag.0123456789ab.tmp", old, false},
		{"m.mag", "m.mag.0123456789ab.tmp", old, false},
		{"m.mag", ".m.mag.0123456789ab", old, false},
		{"m.mag", ".m.mag.0123456789AB.tmp", old, false},
		{"m.mag", ".m.mag.123456789ab.tmp", old, false},
		{"m.mag", ".m.mag.00123456789ab.tmp", old, false},
		{"m.mag", ".m.mag.0123456789ag.tmp", old, false},
		{"m.mag", ".m.mag.tmp", old, false},
		{"m.mag", "m.mag.bak", old, false},
		{long, "." + Shorten(long) + ".0123456789ab.tmp", old, true},
		{long + "x", "." + Shorten(long) + ".0123456789ab.tmp", old, false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, tt.name)
		mustWrite(t, path, "left", 0o644)
		expect.OK(t, os.Chtimes(path, tt.at, tt.at))
		replace(t, filepath.Join(dir, tt.target), "new", false)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) != tt.gone {
			t.Errorf("%.30q of %v next to %.30q: %v, gone should be %v", tt.name, tt.at, tt.target, err, tt.gone)
		}
	}
}

var errInjected = errors.New("injected")

// assemble writes a directory with one file.
func assemble(path, name, text string, sync bool) error {
	d := &laidOut{layout: func(*plan.Plan) (*driver.Layout, error) {
		return &driver.Layout{Files: []string{name}, Parts: []driver.Part{{Bytes: []byte(text)}}}, nil
	}}
	o := &plan.WriteOptions{Context: context.Background(), Path: path, NoSync: !sync}
	w, err := New(d, nil, &plan.Plan{Tensors: []tensor.Info{{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{0}}}}, o)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.WriteTensor("a", strings.NewReader("")); err != nil {
		return err
	}
	return w.Close()
}

// tree creates a directory with files.
func tree(t *testing.T, path string, files map[string]string) {
	t.Helper()
	expect.OK(t, os.Mkdir(path, 0o755))
	for name, text := range files {
		mustWrite(t, filepath.Join(path, name), text, 0o644)
	}
}

// TestDirRefused: a directory with content is not replaced, even if the content arrives during the
// write; the error names it.
func TestDirRefused(t *testing.T) {
	parent := t.TempDir()
	for _, late := range []bool{false, true} {
		for _, empty := range []bool{false, true} {
			path := filepath.Join(parent, fmt.Sprint(late, empty))
			switch put := func() { mustWrite(t, filepath.Join(path, "mine.toy"), "x", 0o644) }; {
			case !late:
				tree(t, path, nil)
				put()
			case empty:
				tree(t, path, nil)
			}
			if late {
				SetHook(func(call, to string) error {
					if (call == "rename" || call == "remove") && to == path {
						SetHook(nil)
						if !empty {
							tree(t, path, nil)
						}
						mustWrite(t, filepath.Join(path, "mine.toy"), "x", 0o644)
					}
					return nil
				})
			}
			err := assemble(path, "b.toy", "new", false)
			SetHook(nil)
			if err == nil || !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), "mine.toy") {
				t.Errorf("late %v, empty %v: %v", late, empty, err)
			}
			expect.Equal(t, []string{"mine.toy"}, entries(t, path))
		}
	}
	if list := entries(t, parent); len(list) != 4 {
		t.Errorf("left behind: %q", list)
	}
}

// TestDirRestored: the empty directory is restored if the new one cannot replace it.
func TestDirRestored(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "m")
	tree(t, path, nil)
	SetHook(func(call, _ string) error {
		if call == "rename" {
			return errInjected
		}
		return nil
	})
	defer SetHook(nil)
	expect.Refused(t, errInjected)(nil, assemble(path, "a.toy", "new", false))
	expect.Equal(t, []string{"m"}, entries(t, parent))
}

// TestDirNotDurable: after ErrNotDurable the new directory is in place.
func TestDirNotDurable(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "m")
	SetHook(func(call, at string) error {
		if call == "sync directory" && at == parent {
			return errInjected
		}
		return nil
	})
	defer SetHook(nil)
	expect.Refused(t, driver.ErrNotDurable)(nil, assemble(path, "b.toy", "new", true))
	wantFiles(t, path, map[string]string{"b.toy": "new"})
	expect.Equal(t, []string{"m"}, entries(t, parent))
}

// TestSweepDir: the next writer of a directory removes the leftovers of killed writers, and nothing
// else.
func TestSweepDir(t *testing.T) {
	parent := t.TempDir()
	old := time.Now().Add(-25 * time.Hour)
	for name, file := range map[string]string{".m.0123456789ab.tmp": "a.toy", ".m.0123456789ac.tmp": "a.doc", ".n.0123456789ab.tmp": "a.toy", ".m.0123456789ad.tmp": "young.toy"} {
		path := filepath.Join(parent, name)
		tree(t, path, map[string]string{file: "left"})
		if file != "young.toy" {
			expect.OK(t, os.Chtimes(path, old, old))
		}
	}
	expect.OK(t, assemble(filepath.Join(parent, "m"), "a.toy", "new", false))
	want := []string{".m.0123456789ac.tmp", ".m.0123456789ad.tmp", ".n.0123456789ab.tmp", "m"}
	expect.Equal(t, want, entries(t, parent))
}
