package tsr

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// contains demands exactly these names of a directory.
func contains(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", filepath.Base(dir), diff)
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func read1(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pair is a plan of two tensors, and their data.
func pair() (*format.Plan, map[string][]byte) {
	p := &format.Plan{Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 4}},
		{Name: "b.x", DType: tensor.Int8, Shape: tensor.Shape{3}},
	}}
	return p, map[string][]byte{"w": floats(12), "b.x": int8s(3)}
}

// holdsPair checks what writing pair must give.
func holdsPair(t *testing.T, dir string) {
	t.Helper()
	contains(t, dir, "b.x.tsr", "w.tsr")
	if diff := cmp.Diff(file(1, 2, [4]int32{1, 1, 3, 4}, floats(12)).bytes(), read1(t, filepath.Join(dir, "w.tsr"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(good, read1(t, filepath.Join(dir, "b.x.tsr"))); diff != "" {
		t.Error(diff)
	}
}

// TestCreatePlace checks when Create makes a file and when a directory.
func TestCreatePlace(t *testing.T) {
	one, oneData := plan(tensor.Int8, tensor.Shape{3}), map[string][]byte{"tensor": int8s(3)}
	two, twoData := pair()
	for _, c := range []struct {
		name string
		path string
		plan *format.Plan
		data map[string][]byte
		want string // the file that must exist
	}{
		{"file", "new.tsr", one, oneData, "new.tsr"},
		{"file without ending", "new", one, oneData, "new"},
		{"over a file", "old.tsr", one, oneData, "old.tsr"},
		{"separator", "new/", one, oneData, "new/tensor.tsr"},
		{"existing directory", "dir", one, oneData, "dir/tensor.tsr"},
		{"existing directory with separator", "dir/", one, oneData, "dir/tensor.tsr"},
		{"two tensors", "new", two, twoData, "new/w.tsr"},
		{"two tensors, ending", "new.tsr", two, twoData, "new.tsr/w.tsr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, map[string][]byte{"dir/": nil, "old.tsr": nil})
			w, err := Create(dir+"/"+c.path, c.plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			finish(t, w, c.data)
			f, err := Open(filepath.Join(dir, c.want), nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if left, _ := filepath.Glob(dir + "/.*"); left != nil {
				t.Errorf("left behind: %q", left)
			}
			// Package format decides alike.
			dir = tree(t, map[string][]byte{"dir/": nil, "old.tsr": nil})
			if w, err = format.Create("tsr", dir+"/"+c.path, c.plan, nil); err != nil {
				t.Fatal(err)
			}
			finish(t, w, c.data)
			if _, err := os.Stat(filepath.Join(dir, c.want)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCreateDir(t *testing.T) {
	p, data := pair()
	for _, c := range []struct {
		name string
		old  map[string][]byte // contents of the directory before; nil for none
	}{
		{"new", nil},
		{"over an empty directory", map[string][]byte{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "model")
			if c.old != nil {
				dir = tree(t, c.old)
			}
			w, err := CreateDir(dir, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			finish(t, w, data)
			contains(t, filepath.Dir(dir), "model")
			holdsPair(t, dir)
		})
	}
}

func TestCreateDirThroughLink(t *testing.T) {
	testhost.NeedLinks(t)
	dir := tree(t, map[string][]byte{"real/": nil})
	if err := os.Symlink("real", dir+"/link"); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	p, data := pair()
	w, err := CreateDir(dir+"/link", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, w, data)
	contains(t, dir, "link", "real")
	holdsPair(t, dir+"/real")
}

// TestCreateDirHere writes to the current directory.
func TestCreateDirHere(t *testing.T) {
	testhost.NeedReplace(t)
	dir := tree(t, map[string][]byte{})
	t.Chdir(dir)
	p, data := pair()
	w, err := CreateDir(".", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, w, data)
	contains(t, filepath.Dir(dir), "model")
	holdsPair(t, dir)
}

// TestCreateDirRefuses leaves alone a directory with something in it.
func TestCreateDirRefuses(t *testing.T) {
	p, _ := pair()
	for _, c := range []struct {
		name string
		old  map[string][]byte
		at   string
		err  error
	}{
		{"a model", map[string][]byte{"w.tsr": good}, ".", fs.ErrExist},
		{"another file", map[string][]byte{"notes.txt": nil}, ".", fs.ErrExist},
		{"a directory in it", map[string][]byte{"sub.tsr/": nil}, ".", fs.ErrExist},
		{"no parent", nil, "none/model", fs.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, c.old)
			_, err := CreateDir(filepath.Join(dir, c.at), p, nil)
			var e *format.Error
			if !errors.Is(err, c.err) || !errors.As(err, &e) || e.Format != "tsr" {
				t.Errorf("%v, want %v", err, c.err)
			}
			contains(t, filepath.Dir(dir), "model")
		})
	}
	dir := tree(t, map[string][]byte{"file": nil})
	if _, err := CreateDir(dir+"/file", p, nil); err == nil {
		t.Error("a file was replaced by a directory")
	}
	contains(t, dir, "file")
}

// TestCreateDirRefusesLate puts a foreign file, or another thing than a
// directory, in the way after the writer began.
func TestCreateDirRefusesLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		before map[string][]byte
		put    func(t *testing.T, dir string)
		after  []string
	}{
		{"foreign file", map[string][]byte{"m/": nil}, func(t *testing.T, dir string) { write(t, dir+"/m/notes.txt", nil) }, []string{"m", "m/notes.txt"}},
		{"a file", nil, func(t *testing.T, dir string) { write(t, dir+"/m", nil) }, []string{"m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, c.before)
			p, data := pair()
			w, err := CreateDir(dir+"/m", p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for n, b := range data {
				if err := w.WriteTensor(n, bytes.NewReader(b)); err != nil {
					t.Fatal(err)
				}
			}
			c.put(t, dir)
			if err := w.Close(); err == nil {
				t.Error("no error")
			}
			var got []string
			err = fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
				if path != "." {
					got = append(got, path)
				}
				return err
			})
			if diff := cmp.Diff(c.after, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestCreateDirNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
	}{
		{"slash", []string{"a/b"}},
		{"leading slash", []string{"/a"}},
		{"backslash", []string{`a\b`}},
		{"dot", []string{"."}},
		{"dots", []string{".."}},
		{"climbing", []string{"../a"}},
		{"case", []string{"Weight", "weight"}},
		{"case beyond ASCII", []string{"é", "É"}},
		{"case of three", []string{"k", "\u212a"}}, // the Kelvin sign
		{"control character", []string{"a\x1b[31mb"}},
		{"line feed", []string{"a\nb"}},
		{"control character beyond ASCII", []string{"a\u009bb"}},
		{"empty", []string{""}},
		{"NUL", []string{"a\x00b"}},
		{"not UTF-8", []string{"a\xff"}},
		{"twice", []string{"a", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &format.Plan{}
			for _, n := range c.names {
				p.Tensors = append(p.Tensors, tensor.Info{Name: n, DType: tensor.Int8})
			}
			dir := tree(t, nil)
			if _, err := CreateDir(dir+"/m", p, nil); !errors.Is(err, format.ErrPlan) {
				t.Errorf("%v, want %v", err, format.ErrPlan)
			}
			contains(t, dir)
		})
	}
}
