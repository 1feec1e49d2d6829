package tsr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
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
	expect.OK(t, os.Mkdir(dir, 0o777))
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
func list(m *File) (names []string) {
	for n := range m.Tensors() {
		names = append(names, n)
	}
	return names
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
	expect.OK(t, err)
	if size := f.Stats().FileSize; size != int64(len(good)) {
		t.Errorf("%d bytes, before any is used", size)
	}
	expect.Equal(t, []string{"w"}, list(f))
	expect.Equal(t, []string{`ignored, not regular .tsr files: ["data" "other" "self.tsr"]`}, f.Notes())
	f.Close()
	// A dangling link ending in .tsr is not ignored.
	link("nowhere", "gone.tsr")
	expect.Refused(t, fs.ErrNotExist)(Open(dir, nil))
	// Nor is one that leads out of the directory.
	os.Remove(filepath.Join(dir, "gone.tsr"))
	expect.OK(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.tsr"), good, 0o666))
	link("../outside.tsr", "gone.tsr")
	expect.Refused(t, format.ErrUnsupported, "a link that leads out")(Open(dir, nil))
}

// TestNameFromPath checks the names of tensors in files opened alone.
func TestNameFromPath(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"w.tsr", "w"}, {"w.x.tsr", "w.x"}, {"w.tsr.tsr", "w.tsr"}, {"w.bin", "w.bin"}, {"W.TSR", "W.TSR"}, {"tsr", "tsr"}, {"名前.tsr", "名前"},
	} {
		dir := tree(t, map[string][]byte{c.file: good})
		r, err := os.Open(filepath.Join(dir, c.file))
		expect.OK(t, err)
		defer r.Close()
		byPath, err1 := Open(r.Name(), nil)
		ofFile, err2 := openFile(r, 0, -1, nil)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for _, f := range []*File{byPath, ofFile} {
			expect.Equal(t, []string{c.want}, list(f))
			f.Close()
		}
	}
	for _, n := range []string{".tsr", "\xff.tsr"} {
		var e *tensor.Error
		if _, err := Open(filepath.Join(tree(t, map[string][]byte{n: good}), n), nil); !errors.As(err, &e) || !errors.Is(err, format.ErrCorrupt) || e.Field != "file name" {
			t.Errorf("%q: %v", n, err)
		}
	}
}

// TestVerifySmallFiles: verifying small files of a directory maps none of them, and compares their
// headers.
func TestVerifySmallFiles(t *testing.T) {
	testhost.NeedTimes(t)
	testhost.NeedMaps(t)
	empty := file(2, 1, [4]int32{1, 1, 1, 0}, nil).bytes()
	large := file(2, 1, [4]int32{1, 1, 1, 100000}, int8s(100000)).bytes()
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   error
		field  string
	}{
		{"unchanged", func(*testing.T, string) {}, nil, ""},
		{"another header", func(t *testing.T, path string) { overwrite(t, path, 36, 4) }, tensor.ErrCorrupt, "header"},
		{"cut", func(t *testing.T, path string) { expect.OK(t, os.Truncate(path, 65)) }, tensor.ErrCorrupt, `tensor "w"`},
	} {
		dir := tree(t, map[string][]byte{"empty.tsr": empty, "large.tsr": large, "w.tsr": good})
		f, err := Open(dir, nil)
		expect.OK(t, err)
		tt.change(t, filepath.Join(dir, "w.tsr"))
		_, err = f.Verify(t.Context(), nil)
		if tt.want == nil {
			expect.OK(t, err)
			expect.Equal(t, int64(len(large)), f.Stats().Mapped)
		} else {
			var e *tensor.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Field != tt.field || !strings.Contains(err.Error(), "w.tsr") {
				t.Errorf("%s: %v, want %v in %q", tt.name, err, tt.want, tt.field)
			}
		}
		expect.OK(t, f.Close())
	}
}

// TestMapsWhatIsUsed: describing the tensors of a directory maps no file, and using one maps its file.
func TestMapsWhatIsUsed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system maps the file of each view")
	}
	testhost.NeedTimes(t)
	testhost.NeedMaps(t)
	empty := file(2, 1, [4]int32{1, 1, 1, 0}, nil).bytes()
	files := map[string][]byte{"a.tsr": good, "b.tsr": empty, "c.tsr": good}
	for _, tt := range []struct {
		name string
		use  func(v tensor.View) error
	}{
		{"Bytes", func(v tensor.View) error { _, err := v.Bytes(); return err }},
		{"As", func(v tensor.View) error { _, err := tensor.As[int8](v); return err }},
		{"Use", func(v tensor.View) error { return v.Use(func([]byte) error { return nil }) }},
		{"ReadInto", func(v tensor.View) error { _, err := v.ReadInto(make([]byte, 3)); return err }},
		{"ReadAt", func(v tensor.View) error { _, err := v.ReadAt(make([]byte, 1), 1); return err }},
		{"Decode", func(v tensor.View) error { _, err := tensor.Decode(make([]float32, 3), v); return err }},
		{"DecodeAt", func(v tensor.View) error { return tensor.DecodeAt(make([]float32, 1), v, 1) }},
		{"Clone", func(v tensor.View) error { _, err := v.Clone(); return err }},
		{"Slice", func(v tensor.View) error { return bytesOf(v.Slice(tensor.Range{From: 0, To: tensor.End})) }},
		{"WithInfo", func(v tensor.View) error { return bytesOf(v.WithInfo(v.Info())) }},
		{"Digest", func(v tensor.View) error { _, err := v.Digest(); return err }},
		{"Prefetch", tensor.View.Prefetch},
		{"Resident", func(v tensor.View) error { _, err := v.Resident(); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, files)
			f, err := Open(dir, nil)
			expect.OK(t, err)
			views := describe(t, f)
			expect.Equal(t, int64(0), f.Stats().Mapped)
			expect.OK(t, tt.use(views[0]))
			expect.Equal(t, int64(len(good)), f.Stats().Mapped)
			if !views[0].ZeroCopy() || !views[2].ZeroCopy() {
				t.Error("a tensor is not used in place")
			}
			f.Close()
			for _, v := range views {
				if err := tt.use(v); !errors.Is(err, format.ErrClosed) {
					t.Errorf("%v after Close: %v", v, err)
				}
			}
		})
	}
}

// bytesOf uses a view unless there is an error.
func bytesOf(v tensor.View, err error) error {
	if err != nil {
		return err
	}
	_, err = v.Bytes()
	return err
}

// describe returns the views of all tensors, after everything that describes them.
func describe(t *testing.T, f *File) (views []tensor.View) {
	t.Helper()
	_, err := f.Schema()
	expect.OK(t, err)
	for name, v := range f.InFileOrder() {
		expect.Equal(t, name, v.Name())
	}
	for _, v := range f.Tensors() {
		if !v.ZeroCopy() || v.Info().Offset != headerSize {
			t.Errorf("%v: %v", v, v.Info())
		}
		views = append(views, v)
	}
	return views
}

// overwrite replaces a byte of a file in place, and keeps the time of its last change.
func overwrite(t *testing.T, path string, at int64, b byte) {
	t.Helper()
	was, err := os.Stat(path)
	expect.OK(t, err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	expect.OK(t, err)
	_, err = f.WriteAt([]byte{b}, at)
	expect.OK(t, errors.Join(err, f.Close(), os.Chtimes(path, was.ModTime(), was.ModTime())))
}
