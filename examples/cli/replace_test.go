package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestReplace: a file is replaced as a whole, or not at all, and no other file remains.
func TestReplace(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		name   string
		before map[string]string // by name
		path   string
		err    error // of writing
		want   map[string]string
		fails  bool
	}{
		{"a new file", nil, "a", nil, map[string]string{"a": "new"}, false},
		{"an old file", map[string]string{"a": "old", "b": "b"}, "a", nil, map[string]string{"a": "new", "b": "b"}, false},
		{"an error, without an old file", nil, "a", failed, map[string]string{}, true},
		{"an error, with an old file", map[string]string{"a": "old"}, "a", failed, map[string]string{"a": "old"}, true},
		{"a directory", map[string]string{"a/x": "x"}, "a", nil, map[string]string{"a/x": "x"}, true},
		{"no directory", nil, "no/a", nil, map[string]string{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.before {
				path := filepath.Join(dir, name)
				expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
				expect.OK(t, os.WriteFile(path, []byte(text), 0o640))
			}
			err := Replace(filepath.Join(dir, c.path), func(w io.Writer) error {
				_, err := io.WriteString(w, "new")
				return errors.Join(err, c.err)
			})
			if (err != nil) != c.fails || c.err != nil && !errors.Is(err, c.err) {
				t.Error(err)
			}
			got := map[string]string{}
			expect.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				rel, err := filepath.Rel(dir, path)
				got[filepath.ToSlash(rel)] = string(expect.Read(t, path))
				return err
			}))
			expect.Equal(t, c.want, got)
			st, err := os.Stat(filepath.Join(dir, "a"))
			if c.before["a"] != "" && runtime.GOOS != "windows" && (err != nil || st.Mode().Perm() != 0o640) {
				t.Errorf("permissions: %v, %v", st, err)
			}
		})
	}
}

// TestReplaceLink: a link stays, and leads to the new file.
func TestReplaceLink(t *testing.T) {
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o666))
	link := filepath.Join(dir, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Skip(err)
	}
	expect.OK(t, Replace(link, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	}))
	expect.Equal(t, "new", string(expect.Read(t, filepath.Join(dir, "a"))))
	to, err := os.Readlink(link)
	expect.OK(t, err)
	expect.Equal(t, "a", to)
}
