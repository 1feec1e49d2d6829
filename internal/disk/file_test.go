package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// names returns the names in a directory.
func names(t *testing.T, dir string) []string {
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
	got := map[string]string{}
	for _, name := range names(t, dir) {
		got[name] = string(expect.Read(t, filepath.Join(dir, name)))
	}
	expect.Equal(t, want, got)
}

// replace writes text to path.
func replace(t *testing.T, path, text string) {
	t.Helper()
	f, err := Create(path)
	expect.OK(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	expect.OK(t, err)
	expect.OK(t, f.Publish())
}

var errInjected = errors.New("injected")

// failAt makes the calls of a name fail.
func failAt(t *testing.T, name, path string) {
	t.Helper()
	SetHook(func(c Call) error {
		if c.Name == name && (path == "" || c.Path == path) {
			return errInjected
		}
		return nil
	})
	t.Cleanup(func() { SetHook(nil) })
}

func TestRefused(t *testing.T) {
	dir := testhost.TempDir(t)
	mustWrite(t, filepath.Join(dir, "file"), "x", 0o644)
	for name, path := range map[string]string{
		"directory":            dir,
		"no such directory":    filepath.Join(dir, "none", "f"),
		"below a regular file": filepath.Join(dir, "file", "f"),
		"device":               os.DevNull,
	} {
		f, err := Create(path)
		if err == nil {
			f.Abort()
			t.Errorf("%s: no error", name)
		}
	}
	expect.Equal(t, []string{"file"}, names(t, dir))
}

// TestSymbolicLink: the link's target is replaced and the link stays.
func TestSymbolicLink(t *testing.T) {
	testhost.NeedLinks(t)
	dir := testhost.TempDir(t)
	real := filepath.Join(dir, "real")
	expect.OK(t, os.Mkdir(real, 0o755))
	link := filepath.Join(dir, "link")
	expect.OK(t, os.Symlink(filepath.Join("real", "m.mag"), link))
	mustWrite(t, filepath.Join(real, "m.mag"), "old", 0o644)
	replace(t, link, "new")
	wantFiles(t, real, map[string]string{"m.mag": "new"})
	info, err := os.Lstat(link)
	expect.OK(t, err)
	if info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", info.Mode())
	}
}

// TestBlobs: nothing is written through a link into the blobs of a cache. A file there may be replaced by its own path,
// and a directory that is only called like them is no cache.
func TestBlobs(t *testing.T) {
	testhost.NeedLinks(t)
	tests := []struct {
		name   string
		cache  string // a directory beside the blobs
		link   string // to make
		target string
		path   string // to write
		want   error
	}{
		{"a file of a snapshot", "snapshots", "snapshots/m.mag", "../blobs/0123", "snapshots/m.mag", tensor.ErrUnsupported},
		{"a link from elsewhere", "snapshots", "m.mag", "blobs/0123", "m.mag", tensor.ErrUnsupported},
		{"a link to a link", "snapshots", "snapshots/m.mag", "../blobs/link", "snapshots/m.mag", tensor.ErrUnsupported},
		{"a link among the blobs", "snapshots", "", "", "blobs/link", tensor.ErrUnsupported},
		{"a link to the directory", "snapshots", "b", "blobs", "b/0123", tensor.ErrUnsupported},
		{"a new file by a link to the directory", "snapshots", "b", "blobs", "b/4567", tensor.ErrUnsupported},
		{"a cache of Ollama", "manifests", "m.mag", "blobs/0123", "m.mag", tensor.ErrUnsupported},
		{"the blob itself", "snapshots", "", "", "blobs/0123", nil},
		{"no cache", "other", "m.mag", "blobs/0123", "m.mag", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := testhost.TempDir(t)
			at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			expect.OK(t, os.Mkdir(at("blobs"), 0o755))
			expect.OK(t, os.Mkdir(at(tt.cache), 0o755))
			mustWrite(t, at("blobs/0123"), "blob", 0o644)
			expect.OK(t, os.Symlink("0123", at("blobs/link")))
			if tt.link != "" {
				expect.OK(t, os.Symlink(filepath.FromSlash(tt.target), at(tt.link)))
			}
			if tt.want == nil {
				replace(t, at(tt.path), "new")
				return
			}
			_, err := Create(at(tt.path))
			expect.Refused(t, tt.want)(nil, err)
			if err != nil && !strings.Contains(err.Error(), "another path") {
				t.Errorf("%v does not say what to do", err)
			}
			expect.Equal(t, "blob", string(expect.Read(t, at("blobs/0123"))))
			expect.Equal(t, []string{"0123", "link"}, names(t, at("blobs")))
		})
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
			dir := testhost.TempDir(t)
			f, err := Create(filepath.Join(dir, base))
			expect.OK(t, err)
			hidden := filepath.Base(f.Name())
			if len(hidden) > longest+len("..")+digits+len(hiddenEnd) || !utf8.ValidString(hidden) || !IsHidden(hidden) {
				t.Errorf("the hidden file is %q", hidden)
			}
			expect.OK(t, f.Publish())
			expect.Equal(t, []string{base}, names(t, dir))
		})
	}
	// Long names with a common prefix have different hidden names.
	long := strings.Repeat("m", 200)
	if Shorten(long+"a") == Shorten(long+"b") {
		t.Error("two long names have the same hidden ones")
	}
}

// TestLeftovers: the first writer in a directory removes the leftovers of killed writers, and nothing else.
func TestLeftovers(t *testing.T) {
	old := time.Now().Add(-25 * time.Hour)
	young := time.Now().Add(-23 * time.Hour)
	long := Shorten(strings.Repeat("m", 150))
	tests := []struct {
		name string
		at   time.Time
		gone bool
	}{
		{".m.mag.0123456789ab.tmp", old, true},
		{".m.mag.0123456789ab.tmp", young, false},
		{".m.mag.0123456789ab.tmp", time.Now().Add(time.Hour), false},
		{".n.mag.0123456789ab.tmp", old, true},
		{"." + long + ".0123456789ab.tmp", old, true},
		{"m.mag.0123456789ab.tmp", old, false},
		{".m.mag.0123456789ab", old, false},
		{".m.mag.0123456789AB.tmp", old, false},
		{".m.mag.123456789ab.tmp", old, false},
		{".m.mag.00123456789ab.tmp", old, false},
		{".m.mag.0123456789ag.tmp", old, false},
		{".m.mag.tmp", old, false},
		{"..0123456789ab.tmp", old, false},
		{"m.mag.bak", old, false},
	}
	for _, tt := range tests {
		dir := testhost.TempDir(t)
		path := filepath.Join(dir, tt.name)
		mustWrite(t, path, "left", 0o644)
		expect.OK(t, os.Chtimes(path, tt.at, tt.at))
		replace(t, filepath.Join(dir, "m.mag"), "new")
		if exists(path) == tt.gone {
			t.Errorf("%.30q of %v: gone should be %v", tt.name, tt.at, tt.gone)
		}
	}
}

// TestLeftoversOfOneWriter: while a writer writes its last file, its first may be a day old.
func TestLeftoversOfOneWriter(t *testing.T) {
	dir := testhost.TempDir(t)
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{".m.mag.0123456700ab.tmp", ".m.mag.0123456701ab.tmp", ".n.mag.89abcdef00ab.tmp"} {
		mustWrite(t, filepath.Join(dir, name), "part", 0o644)
		expect.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	mustWrite(t, filepath.Join(dir, ".m.mag.0123456789ab.tmp"), "part", 0o644)
	replace(t, filepath.Join(dir, "m.mag"), "new")
	expect.Equal(t, []string{".m.mag.0123456700ab.tmp", ".m.mag.0123456701ab.tmp", ".m.mag.0123456789ab.tmp", "m.mag"}, names(t, dir))
}

// TestLeftoversOnce: a process looks for leftovers once in each directory.
func TestLeftoversOnce(t *testing.T) {
	dir := testhost.TempDir(t)
	replace(t, filepath.Join(dir, "m.mag"), "old")
	left := filepath.Join(dir, ".m.mag.0123456789ab.tmp")
	mustWrite(t, left, "left", 0o644)
	past := time.Now().Add(-25 * time.Hour)
	expect.OK(t, os.Chtimes(left, past, past))
	replace(t, filepath.Join(dir, "m.mag"), "new")
	if !exists(left) {
		t.Error("the directory was listed again")
	}
	ForgetSwept()
	replace(t, filepath.Join(dir, "m.mag"), "new")
	wantFiles(t, dir, map[string]string{"m.mag": "new"})
}

// TestNotDurable: after ErrNotDurable the new file is in place.
func TestNotDurable(t *testing.T) {
	dir := testhost.TempDir(t)
	failAt(t, "sync directory", dir)
	f, err := Create(filepath.Join(dir, "m.mag"))
	expect.OK(t, err)
	expect.Refused(t, tensor.ErrNotDurable)(nil, f.Publish())
	wantFiles(t, dir, map[string]string{"m.mag": ""})
}

// assemble writes a directory with one file.
func assemble(path, name, text string) error {
	tree, err := CreateTree(path, ".toy")
	if err != nil {
		return err
	}
	defer tree.Abort()
	f, err := tree.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		f.Abort()
		return err
	}
	if err := f.Complete(); err != nil {
		return err
	}
	return tree.Publish()
}

// makeTree creates a directory with files.
func makeTree(t *testing.T, path string, files map[string]string) {
	t.Helper()
	expect.OK(t, os.Mkdir(path, 0o755))
	for name, text := range files {
		mustWrite(t, filepath.Join(path, name), text, 0o644)
	}
}

// TestTreeRefused: a directory with content is not replaced, even if the content arrives during the
// write; the error names it.
func TestTreeRefused(t *testing.T) {
	parent := testhost.TempDir(t)
	for _, late := range []bool{false, true} {
		for _, empty := range []bool{false, true} {
			path := filepath.Join(parent, fmt.Sprint(late, empty))
			if !late || empty {
				makeTree(t, path, nil)
			}
			if !late {
				mustWrite(t, filepath.Join(path, "mine.toy"), "x", 0o644)
			}
			SetHook(func(c Call) error {
				if late && (c.Name == "rename" || c.Name == "remove") && c.Path == path {
					SetHook(nil)
					if !empty {
						makeTree(t, path, nil)
					}
					mustWrite(t, filepath.Join(path, "mine.toy"), "x", 0o644)
				}
				return nil
			})
			err := assemble(path, "b.toy", "new")
			SetHook(nil)
			if err == nil || !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), "mine.toy") {
				t.Errorf("late %v, empty %v: %v", late, empty, err)
			}
			expect.Equal(t, []string{"mine.toy"}, names(t, path))
		}
	}
	if list := names(t, parent); len(list) != 4 {
		t.Errorf("left behind: %q", list)
	}
}

// TestTreeRestored: the empty directory is restored if the new one cannot replace it.
func TestTreeRestored(t *testing.T) {
	parent := testhost.TempDir(t)
	path := filepath.Join(parent, "m")
	makeTree(t, path, nil)
	failAt(t, "rename", "")
	expect.Refused(t, errInjected)(nil, assemble(path, "a.toy", "new"))
	expect.Equal(t, []string{"m"}, names(t, parent))
}

// TestTreeNotDurable: after ErrNotDurable the new directory is in place.
func TestTreeNotDurable(t *testing.T) {
	parent := testhost.TempDir(t)
	path := filepath.Join(parent, "m")
	failAt(t, "sync directory", parent)
	expect.Refused(t, tensor.ErrNotDurable)(nil, assemble(path, "b.toy", "new"))
	wantFiles(t, path, map[string]string{"b.toy": "new"})
	expect.Equal(t, []string{"m"}, names(t, parent))
}

// TestLeftoverTrees: the first writer of a directory removes the leftovers of killed writers, and nothing else.
func TestLeftoverTrees(t *testing.T) {
	parent := testhost.TempDir(t)
	old := time.Now().Add(-25 * time.Hour)
	for _, tt := range []struct {
		name, file string
		isYoung    bool // the directory
		isWritten  bool // the file is young
	}{
		{".m.0123456789ab.tmp", "a.toy", false, false},
		{".m.1123456789ab.tmp", "a.doc", false, false},
		{".m.2123456789ab.tmp", "a.toy", true, false},
		{".m.3123456789ab.tmp", "a.toy", false, true},
		{".n.4123456789ab.tmp", "a.toy", false, false},
	} {
		path := filepath.Join(parent, tt.name)
		makeTree(t, path, map[string]string{tt.file: "left"})
		if !tt.isWritten {
			expect.OK(t, os.Chtimes(filepath.Join(path, tt.file), old, old))
		}
		if !tt.isYoung {
			expect.OK(t, os.Chtimes(path, old, old))
		}
	}
	expect.OK(t, assemble(filepath.Join(parent, "m"), "a.toy", "new"))
	expect.Equal(t, []string{".m.1123456789ab.tmp", ".m.2123456789ab.tmp", ".m.3123456789ab.tmp", "m"}, names(t, parent))
}
