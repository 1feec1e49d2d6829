package tsr

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// good is a small valid file.
var good = file(2, 1, [4]int32{1, 1, 1, 3}, int8s(3)).bytes()

// tree writes files to a temporary directory and returns it. A name ending in a
// slash makes a directory.
func tree(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for n, b := range files {
		path, err := filepath.Join(dir, n), error(nil)
		if strings.HasSuffix(n, "/") {
			err = os.Mkdir(path, 0o777)
		} else {
			err = os.WriteFile(path, b, 0o666)
		}
		if err != nil {
			t.Skipf("this system has no such file: %v", err)
		}
	}
	return dir
}

// list returns the names of all tensors in order.
func list(m interface {
	Tensors() iter.Seq2[string, tensor.View]
}) (names []string) {
	for n := range m.Tensors() {
		names = append(names, n)
	}
	return names
}

func TestDirectory(t *testing.T) {
	testhost.NeedMaps(t)
	dir := tree(t, map[string][]byte{
		"fc.weight.tsr": file(1, 2, [4]int32{1, 1, 3, 4}, floats(12)).bytes(),
		"fc.bias.tsr":   file(3, 1, [4]int32{1, 1, 1, 3}, int32s(3)).bytes(),
		"empty.tsr":     file(2, 2, [4]int32{1, 1, 0, 3}, nil).bytes(),
		"a.tsr.tsr":     good,
	})
	f, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff([]string{"a.tsr", "empty", "fc.bias", "fc.weight"}, list(f)); diff != "" {
		t.Error(diff)
	}
	v, err := f.Tensor("fc.weight")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tensor.Info{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{3, 4}, Offset: 64, Size: 48, Stored: 48}, v.Info()); diff != "" {
		t.Error(diff)
	}
	got, err := tensor.As[float32](v)
	if runtime.GOARCH != "s390x" && (err != nil || got[11] != 12.5 || !v.ZeroCopy()) {
		t.Errorf("%v, %v, zero copy %v", got, err, v.ZeroCopy())
	}
	if _, err := f.Tensor("fc.weight.tsr"); !errors.Is(err, format.ErrNotFound) {
		t.Errorf("a tensor has the name of its file: %v", err)
	}
	if f.Notes() != nil || f.Format() != "tsr" || f.Version() != "1" || f.Len() != 4 {
		t.Errorf("%q, %s %s, %d", f.Notes(), f.Format(), f.Version(), f.Len())
	}
	if c, err := f.Verify(t.Context()); err != nil || c.String() != "ok, but nothing covers the data of 3 tensors" {
		t.Errorf("%v, %v", c, err)
	}
	if err := f.Prefetch(); err != nil {
		t.Error(err)
	}
}

// TestDirectoryByRegistry opens a directory through package format.
func TestDirectoryByRegistry(t *testing.T) {
	m, err := format.Open(tree(t, map[string][]byte{"w.tsr": good}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if diff := cmp.Diff([]string{"w"}, list(m)); diff != "" {
		t.Error(diff)
	}
	if f, ok := From(m); !ok || f.Model != m {
		t.Errorf("From = %v, %v", f, ok)
	}
}

func TestDirectoryMembers(t *testing.T) {
	testhost.NeedMaps(t)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		want  []string
		note  string // "" for none
	}{
		{"hidden", map[string][]byte{".w.tsr": good}, []string{".w"}, ""},
		{"upper case is another ending", map[string][]byte{"a.tsr": good, "B.TSR": good}, []string{"a"}, `ignored, not regular .tsr files: ["B.TSR"]`},
		{"others", map[string][]byte{"w.tsr": good, "readme.txt": nil, "tsr": nil, "w.tsr.tmp": nil}, []string{"w"}, `ignored, not regular .tsr files: ["readme.txt" "tsr" "w.tsr.tmp"]`},
		{"directory with the ending", map[string][]byte{"w.tsr": good, "sub.tsr/": nil}, []string{"w"}, `ignored, not regular .tsr files: ["sub.tsr"]`},
		{"many others", map[string][]byte{"w.tsr": good, "1": nil, "2": nil, "3": nil, "4": nil, "5": nil, "6": nil, "7": nil}, []string{"w"}, `ignored, not regular .tsr files: ["1" "2" "3" "4" "5"] and 2 more`},
		{"bytewise order", map[string][]byte{"b.tsr": good, "a-.tsr": good, "a.tsr": good, "é.tsr": good, "z.tsr": good}, []string{"a-", "a", "b", "z", "é"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Open(tree(t, c.files), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if diff := cmp.Diff(c.want, list(f)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.note, strings.Join(f.Notes(), "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDirectoryRefused(t *testing.T) {
	testhost.NeedMaps(t)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		opts  *format.Options
		err   error
		path  string // base name of the path in the error
		field string
	}{
		{"empty", nil, nil, format.ErrCorrupt, "model", "directory"},
		{"name not UTF-8", map[string][]byte{"\xff.tsr": good}, nil, format.ErrCorrupt, "\xff.tsr", "file name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.field == "file name" && runtime.GOOS == "windows" {
				t.Skip("names of files are UTF-16 here")
			}
			f, err := Open(tree(t, c.files), c.opts)
			var e *format.Error
			if !errors.As(err, &e) || !errors.Is(err, c.err) || filepath.Base(e.Path) != c.path || e.Format != "tsr" || e.Field != c.field {
				t.Errorf("%v (%+v), want %v at %s, %s", err, e, c.err, c.path, c.field)
			}
			if f != nil {
				t.Error("a model with the error")
			}
		})
	}
}

func TestDirectoryLinks(t *testing.T) {
	testhost.NeedLinks(t)
	testhost.NeedMaps(t)
	dir := tree(t, map[string][]byte{"data": good})
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	link("data", "w.tsr")
	link(".", "self.tsr")
	link("nowhere", "other")
	f, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if size := f.Stats().FileSize; size != int64(len(good)) {
		t.Errorf("%d bytes, before any is used", size)
	}
	if diff := cmp.Diff([]string{"w"}, list(f)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`ignored, not regular .tsr files: ["data" "other" "self.tsr"]`}, f.Notes()); diff != "" {
		t.Error(diff)
	}
	f.Close()
	// A dangling link ending in .tsr is not ignored.
	link("nowhere", "gone.tsr")
	if _, err := Open(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	// Nor is one that leads out of the directory.
	os.Remove(filepath.Join(dir, "gone.tsr"))
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.tsr"), good, 0o666); err != nil {
		t.Fatal(err)
	}
	link("../outside.tsr", "gone.tsr")
	if _, err := Open(dir, nil); !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("a link that leads out: %v, want %v", err, format.ErrUnsupported)
	}
}

// TestNameFromPath checks the names of tensors in files opened alone.
func TestNameFromPath(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"w.tsr", "w"}, {"w.x.tsr", "w.x"}, {"w.tsr.tsr", "w.tsr"}, {"w.bin", "w.bin"}, {"W.TSR", "W.TSR"}, {"tsr", "tsr"}, {"名前.tsr", "名前"},
	} {
		dir := tree(t, map[string][]byte{c.file: good})
		f, err := Open(filepath.Join(dir, c.file), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{c.want}, list(f)); diff != "" {
			t.Error(diff)
		}
		f.Close()
		r, err := os.Open(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		if f, err = OpenFile(r, 0, -1, nil); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if diff := cmp.Diff([]string{c.want}, list(f)); diff != "" {
			t.Error(diff)
		}
		f.Close()
	}
	for _, n := range []string{".tsr", "\xff.tsr"} {
		var e *format.Error
		if _, err := Open(filepath.Join(tree(t, map[string][]byte{n: good}), n), nil); !errors.As(err, &e) || !errors.Is(err, format.ErrCorrupt) || e.Field != "file name" {
			t.Errorf("%q: %v", n, err)
		}
	}
	f, err := OpenReaderAt(bytes.NewReader(good), int64(len(good)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff([]string{"tensor"}, list(f)); diff != "" {
		t.Error(diff)
	}
}
