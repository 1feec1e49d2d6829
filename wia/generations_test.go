package wia

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// errAny is an error of the system.
var errAny = errors.New("any")

// saveModel writes a model of one external tensor and returns the name of its data.
func saveModel(t *testing.T, path, data string, o *format.WriteOptions) string {
	t.Helper()
	expect.OK(t, trySave(path, data, o))
	testhost.RoundTimes(t, filepath.Dir(path))
	f, err := Open(path, &format.Options{Key: testKey})
	expect.OK(t, err)
	defer f.Close()
	expect.OK(t, verify(f))
	holds(t, f, data)
	for _, file := range f.Files()[1:] {
		location, err := filepath.Rel(filepath.Dir(path), file)
		expect.OK(t, err)
		return filepath.ToSlash(location)
	}
	t.Fatal("no external data")
	return ""
}

// holds fails unless data is that of the tensor.
func holds(t *testing.T, f *File, data string) {
	t.Helper()
	if b, err := f.At(0).Bytes(); string(b) != data || err != nil {
		t.Fatalf("%q, %v, want %q", b, err, data)
	}
}

func trySave(path, data string, o *format.WriteOptions) error {
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(len(data))}}}}
	own := *cmp.Or(o, new(format.WriteOptions))
	own.ExternalFrom = 1
	own.Time = time.Unix(1_700_000_000, 0)
	w, err := format.Create(path, p, &own)
	if err != nil {
		return err
	}
	if err := w.WriteTensor("w", bytes.NewReader([]byte(data))); err != nil {
		return err
	}
	return w.Close()
}

// namesIn lists a directory.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(dir), "*")
	expect.OK(t, err)
	return names
}

// TestGenerations checks that replacing a model writes a new data file, and
// removes the old one if, and only if, no model needs it.
func TestGenerations(t *testing.T) {
	put := func(name, text string) func(t *testing.T, dir, old string) {
		return func(t *testing.T, dir, _ string) {
			t.Helper()
			expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	other := func(t *testing.T, dir, _ string) {
		saveModel(t, filepath.Join(dir, "n.wia"), "other", nil)
	}
	const temporary = ".n.wia.0123456789ab.tmp"
	tests := []struct {
		name string
		prep func(t *testing.T, dir, old string)
		gone bool // the old data
	}{
		{"alone", func(*testing.T, string, string) {}, true},
		{"another model", other, true},
		{"a file that is no model", put("readme", "m.wia"), true},
		{"a copy of the model", func(t *testing.T, dir, _ string) {
			b := expect.Read(t, filepath.Join(dir, "m.wia"))
			put("copy", string(b))(t, dir, "")
		}, false},
		{"a model that names it otherwise", func(t *testing.T, dir, old string) {
			put("n.wia", string(container{tensor: externalRecord("v", "././/"+old, 0, 4, "")}.bytes()))(t, dir, "")
		}, false},
		{"an attribute that names it", func(t *testing.T, dir, old string) {
			put("n.wia", string(attr(by(5, cat(decl("", 8, 4), by(5, st(1, old), vi(3, 4))))).bytes()))(t, dir, "")
		}, false},
		{"a model that cannot be read", put("n.wia", "1AIW and nothing more"), false},
		{"one of no such name", put("broken", "1AIW and nothing more"), false},
		{"an encrypted model", func(t *testing.T, dir, _ string) {
			saveModel(t, filepath.Join(dir, "n.wia"), "secret", &format.WriteOptions{Key: testKey})
		}, false},
		{"another writer", put(temporary, ""), true},
		{"killed writer", func(t *testing.T, dir, _ string) {
			put(temporary, "")(t, dir, "")
			old := time.Now().Add(-25 * time.Hour)
			expect.OK(t, os.Chtimes(filepath.Join(dir, temporary), old, old))
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "m.wia")
			old := saveModel(t, path, "old data", nil)
			tt.prep(t, dir, old)
			for _, name := range []string{"m.wia.data", "n.wia.0123456789abcdef.data", "m.wia.0123456789abcdef.data.bak", "m.wia.0123456789ABCDE0.data", "m.wia.0123456789abcde.data", "m.onnx.0123456789abcdef.data"} {
				put(name, "mine")(t, dir, "")
			}
			expect.OK(t, os.Mkdir(filepath.Join(dir, "m.wia.0123456789abcdef.data"), 0o755))
			before := namesIn(t, dir)
			fresh := saveModel(t, path, "new data", nil)
			want := append(before, fresh)
			if tt.gone {
				want = slices.DeleteFunc(want, func(n string) bool { return n == old })
			}
			slices.Sort(want)
			expect.Equal(t, want, namesIn(t, dir))
		})
	}
}

// TestGenerationsBelow checks data in a subdirectory, under the caller's name.
func TestGenerationsBelow(t *testing.T) {
	dir := t.TempDir()
	o := &format.WriteOptions{External: "./weights//all.bin"}
	saveModel(t, filepath.Join(dir, "m.wia"), "old", o)
	name := saveModel(t, filepath.Join(dir, "m.wia"), "new", o)
	shared := saveModel(t, filepath.Join(dir, "n.wia"), "another", o)
	want := []string{filepath.Base(name), filepath.Base(shared)}
	slices.Sort(want)
	expect.Equal(t, want, namesIn(t, filepath.Join(dir, "weights")))
	if ok, _ := filepath.Match("weights/all.bin.wia.????????????????.data", name); !ok {
		t.Errorf("the location is %q", name)
	}
}

// TestGenerationSame checks that the same model over the same files gives the same files, and
// that other data is never replaced.
func TestGenerationSame(t *testing.T) {
	dir, other, taken := t.TempDir(), t.TempDir(), t.TempDir()
	save := func(dir string) string {
		return saveModel(t, filepath.Join(dir, "m.wia"), "data", nil)
	}
	seen := map[string]bool{}
	for range 4 {
		name := save(dir)
		if same := save(other); same != name {
			t.Errorf("%s, and in another directory %s", name, same)
		}
		if seen[name] {
			t.Errorf("%s came again", name)
		}
		seen[name] = true
		expect.Equal(t, expect.Read(t, filepath.Join(dir, "m.wia")), expect.Read(t, filepath.Join(other, "m.wia")))
	}
	for name := range seen { // other files already have the names
		expect.OK(t, os.WriteFile(filepath.Join(taken, name), []byte("DATA"), 0o644))
	}
	if name := save(taken); seen[name] {
		t.Errorf("%s was replaced", name)
	}
}

// TestGenerationFails checks that a failure does not remove the data of the existing model.
func TestGenerationFails(t *testing.T) {
	dir := testhost.TempDir(t)
	path := filepath.Join(dir, "m.wia")
	name := saveModel(t, path, "data", nil)
	defer disk.SetHook(nil)
	disk.SetHook(func(c disk.Call) error {
		if c.Name == "rename" && c.Path == path {
			return errAny
		}
		return nil
	})
	expect.Refused(t, errAny)(nil, trySave(path, "data", nil))
	expect.Equal(t, []string{"m.wia", name}, namesIn(t, dir))
}

// TestGenerationInside checks that a model without external data replaces one with, and its data, but not data that
// another model names.
func TestGenerationInside(t *testing.T) {
	for _, isShared := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.wia")
		want := []string{"m.wia"}
		name := saveModel(t, path, "data", nil)
		if isShared {
			expect.OK(t, os.WriteFile(filepath.Join(dir, "n.wia"), expect.Read(t, path), 0o644))
			want = []string{"m.wia", name, "n.wia"}
		}
		w, err := format.Create(path, &schema.Schema{}, nil)
		expect.OK(t, err)
		expect.OK(t, w.Close())
		expect.Equal(t, want, namesIn(t, dir))
	}
}

// TestGenerationNotDurable checks that old data stays while a system crash could
// bring the old model back.
func TestGenerationNotDurable(t *testing.T) {
	dir := testhost.TempDir(t)
	path := filepath.Join(dir, "m.wia")
	old := saveModel(t, path, "old", nil)
	defer disk.SetHook(nil)
	renamed := false
	disk.SetHook(func(c disk.Call) error {
		renamed = renamed || c.Name == "rename" && c.Path == path
		if renamed && c.Name == "sync directory" {
			return errAny
		}
		return nil
	})
	if err := trySave(path, "new", nil); !errors.Is(err, format.ErrNotDurable) || !errors.Is(err, errAny) {
		t.Errorf("%v, want ErrNotDurable", err)
	}
	disk.SetHook(nil)
	if names := namesIn(t, dir); len(names) != 3 || !slices.Contains(names, old) {
		t.Errorf("%q, want the model and both files of data", names)
	}
	// A day later another process removes what no model names.
	past := time.Now().Add(-25 * time.Hour)
	for _, name := range namesIn(t, dir) {
		expect.OK(t, os.Chtimes(filepath.Join(dir, name), past, past))
	}
	disk.ForgetSwept()
	fresh := saveModel(t, path, "new", nil)
	expect.Equal(t, []string{"m.wia", fresh}, namesIn(t, dir))
}
