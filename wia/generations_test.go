package wia

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// errAny is an error of the system.
var errAny = errors.New("any")

// saveModel writes a model of one external tensor and returns the name of its data.
func saveModel(t *testing.T, path, data string, o *WriteOptions) string {
	t.Helper()
	expect.OK(t, trySave(path, data, o))
	testhost.RoundTimes(t, filepath.Dir(path))
	f, err := Open(path, &format.Options{Key: o.Key})
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

func trySave(path, data string, o *WriteOptions) error {
	p := &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{int64(len(data))}}}}
	own := *o
	own.ExternalFrom, own.Time = 1, time.Unix(1_700_000_000, 0)
	w, err := Create(path, p, &own)
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
	other := func(t *testing.T, dir, _ string) { saveModel(t, filepath.Join(dir, "n.wia"), "other", &WriteOptions{}) }
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
			put("n.wia", string(container{tensor: elsewhereRecord("v", "././/"+old, 0, 4, "")}.bytes()))(t, dir, "")
		}, false},
		{"an attribute that names it", func(t *testing.T, dir, old string) {
			put("n.wia", string(attr(by(5, cat(decl("", 8, 4), by(5, st(1, old), vi(3, 4))))).bytes()))(t, dir, "")
		}, false},
		{"a model that cannot be read", put("n.wia", "1AIW and nothing more"), false},
		{"one of no such name", put("broken", "1AIW and nothing more"), false},
		{"an encrypted model", func(t *testing.T, dir, _ string) {
			saveModel(t, filepath.Join(dir, "n.wia"), "secret", &WriteOptions{Key: testKey})
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
			old := saveModel(t, path, "old data", &WriteOptions{})
			tt.prep(t, dir, old)
			for _, name := range []string{"m.wia.data", "n.wia.0123456789abcdef.data", "m.wia.0123456789abcdef.data.bak", "m.wia.0123456789ABCDE0.data", "m.wia.0123456789abcde.data", "m.onnx.0123456789abcdef.data"} {
				put(name, "mine")(t, dir, "")
			}
			expect.OK(t, os.Mkdir(filepath.Join(dir, "m.wia.0123456789abcdef.data"), 0o755))
			before := namesIn(t, dir)
			fresh := saveModel(t, path, "new data", &WriteOptions{})
			want := append(before, fresh)
			if tt.gone {
				want = slices.DeleteFunc(want, func(n string) bool { return n == old })
			}
			slices.Sort(want)
			expect.Equal(t, want, namesIn(t, dir))
		})
	}
}

// TestGenerationsAtOnce checks that data shared with an old model or with another
// writer is preserved while a concurrent writer needs it.
func TestGenerationsAtOnce(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name, old, other string
		err              error // of the step after the data is in place
	}{
		{name: "removed with the old model", old: "data", other: "other data"},
		{name: "given up when another needs it", other: "data", err: failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.wia")
			if tt.old != "" {
				saveModel(t, path, tt.old, &WriteOptions{})
			}
			placed := false
			defer disk.SetHook(nil)
			disk.SetHook(func(c disk.Call) error {
				if !placed {
					placed = c.Name == "rename"
					return nil
				}
				disk.SetHook(nil)
				saveModel(t, path, tt.other, &WriteOptions{})
				return tt.err
			})
			if err := trySave(path, "data", &WriteOptions{}); !errors.Is(err, tt.err) {
				t.Fatal(err)
			}
			f, err := Open(path, nil)
			expect.OK(t, err)
			defer f.Close()
			holds(t, f, "data")
		})
	}
}

// TestGenerationsBelow checks data in a subdirectory, under the caller's name.
func TestGenerationsBelow(t *testing.T) {
	dir := t.TempDir()
	o := &WriteOptions{External: "./weights//all.bin"}
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

// TestGenerationSame checks that equal models have equal names for their data, and
// that other data is never replaced.
func TestGenerationSame(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.wia")
	name := saveModel(t, path, "data", &WriteOptions{})
	b := expect.Read(t, path)
	if again := saveModel(t, path, "data", &WriteOptions{}); again != name {
		t.Errorf("%s, then %s", name, again)
	}
	if c, _ := os.ReadFile(path); !bytes.Equal(b, c) {
		t.Error("the same input gives another model")
	}
	// A failure now must not remove the data of the existing model.
	defer disk.SetHook(nil)
	disk.SetHook(func(c disk.Call) error {
		if c.Name == "rename" && c.Path == path {
			return errAny
		}
		return nil
	})
	expect.Refused(t, errAny)(nil, trySave(path, "data", &WriteOptions{}))
	disk.SetHook(nil)
	expect.Equal(t, []string{"m.wia", name}, namesIn(t, dir))
	// Another file already has the name of the data.
	expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("DATA"), 0o644))
	if other := saveModel(t, path, "data", &WriteOptions{}); other == name {
		t.Error("a file of other content was taken for the data")
	}
}

// TestGenerationNotDurable checks that old data stays while a system crash could
// bring the old model back.
func TestGenerationNotDurable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.wia")
	old := saveModel(t, path, "old", &WriteOptions{})
	defer disk.SetHook(nil)
	renamed := false
	disk.SetHook(func(c disk.Call) error {
		renamed = renamed || c.Name == "rename" && c.Path == path
		if renamed && c.Name == "sync directory" {
			return errAny
		}
		return nil
	})
	if err := trySave(path, "new", &WriteOptions{}); !errors.Is(err, format.ErrNotDurable) || !errors.Is(err, errAny) {
		t.Errorf("%v, want ErrNotDurable", err)
	}
	disk.SetHook(nil)
	if names := namesIn(t, dir); len(names) != 3 || !slices.Contains(names, old) {
		t.Errorf("%q, want the model and both files of data", names)
	}
	fresh := saveModel(t, path, "new", &WriteOptions{})
	expect.Equal(t, []string{"m.wia", fresh}, namesIn(t, dir))
}
