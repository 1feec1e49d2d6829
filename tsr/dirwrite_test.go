package tsr

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
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
		{"over a model", map[string][]byte{"w.tsr": good, "gone.tsr": good}},
		{"over broken files", map[string][]byte{"w.tsr": nil}},
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

// TestCreateDirAtOnce: writers of one directory do not stumble over what others remove.
func TestCreateDirAtOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories are exchanged on Linux only")
	}
	p, data := pair()
	dir := tree(t, map[string][]byte{"w.tsr": good})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 30 {
				w, err := CreateDir(dir, p, &WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
				if err != nil {
					t.Error(err)
					return
				}
				for name, b := range data {
					if err := w.WriteTensor(name, bytes.NewReader(b)); err != nil {
						t.Error(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	contains(t, filepath.Dir(dir), filepath.Base(dir))
	holdsPair(t, dir)
}

// TestCreateDirKeepsMapping replaces a directory that is open.
func TestCreateDirKeepsMapping(t *testing.T) {
	dir := tree(t, map[string][]byte{"w.tsr": good})
	f, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Stats().Mapped == 0 || filepath.Separator != '/' {
		t.Skip("files are not mapped here, or not replaced while they are")
	}
	p, data := pair()
	w, err := CreateDir(dir, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, w, data)
	holdsPair(t, dir)
	got := make([]byte, 3)
	if _, err := f.At(0).ReadInto(got); err != nil || !bytes.Equal(got, int8s(3)) {
		t.Errorf("% x, %v", got, err)
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

// TestCreateDirHere replaces the current directory by one of its names.
func TestCreateDirHere(t *testing.T) {
	testhost.NeedReplace(t)
	dir := tree(t, map[string][]byte{"old.tsr": good})
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

// TestCreateDirNowhere follows a link that leads nowhere.
func TestCreateDirNowhere(t *testing.T) {
	testhost.NeedLinks(t)
	dir := tree(t, nil)
	if err := os.Symlink("nowhere", dir+"/link"); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	p, _ := pair()
	if _, err := CreateDir(dir+"/link", p, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	contains(t, dir, "link")
}

// TestCreateDirRestores fails when the new directory should take the place of
// the old one, which was moved aside by then.
func TestCreateDirRestores(t *testing.T) {
	dir := tree(t, map[string][]byte{"old.tsr": good})
	p, data := pair()
	w, err := CreateDir(dir, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, b := range data {
		if err := w.WriteTensor(n, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".model.*.tmp"))
	if err != nil || len(hidden) != 1 {
		t.Fatalf("%q, %v", hidden, err)
	}
	if err := os.RemoveAll(hidden[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	contains(t, filepath.Dir(dir), "model")
	contains(t, dir, "old.tsr")
}

// TestCreateDirRefuses leaves alone what is not a directory of TSR files.
func TestCreateDirRefuses(t *testing.T) {
	p, _ := pair()
	for _, c := range []struct {
		name string
		old  map[string][]byte
		at   string
		err  error
	}{
		{"other files", map[string][]byte{"w.tsr": good, "notes.txt": nil}, ".", fs.ErrExist},
		{"upper-case ending", map[string][]byte{"W.TSR": good}, ".", fs.ErrExist},
		{"a directory in it", map[string][]byte{"w.tsr": good, "sub.tsr/": nil}, ".", fs.ErrExist},
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
		{"e and an accent", []string{"e\u0301"}},
		{"another order of two marks", []string{"a\u0305\u0332"}},
		{"parts of a Hangul syllable", []string{"\u1112\u1161"}},
		{"the Angstrom sign", []string{"\u212b"}},
		{"a Greek question mark", []string{"\u037e"}},
		{"a compatibility ideograph", []string{"\U0002f800"}},
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

// TestSetAside: a writer that was killed between its two renames left the old model
// by another name. It opens, and the next writer replaces it.
func TestSetAside(t *testing.T) {
	dir := tree(t, map[string][]byte{".m.weightmap-old/": nil})
	write(t, dir+"/.m.weightmap-old/old.tsr", good)
	for _, path := range []string{dir + "/m", dir + "/m/"} {
		f, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Tensor("old"); err != nil {
			t.Error(err)
		}
		f.Close()
		m, err := format.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
	if _, err := Open(dir+"/n", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another model: %v", err)
	}
	contains(t, dir, ".m.weightmap-old") // reading changes nothing
	// Giving up leaves the old model where it belongs.
	p, data := pair()
	w, err := CreateDir(dir+"/m", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	contains(t, dir, "m")
	contains(t, dir+"/m", "old.tsr")
	if w, err = CreateDir(dir+"/m", p, nil); err != nil {
		t.Fatal(err)
	}
	finish(t, w, data)
	contains(t, dir, "m")
	holdsPair(t, dir+"/m")
}
