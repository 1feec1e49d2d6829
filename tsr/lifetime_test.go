package tsr

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// three is a directory of three files.
func three(t *testing.T) *File {
	t.Helper()
	f, err := Open(tree(t, map[string][]byte{
		"a.tsr": file(1, 1, [4]int32{1, 1, 1, 5}, floats(5)).bytes(),
		"b.tsr": file(2, 1, [4]int32{1, 1, 1, 5}, int8s(5)).bytes(),
		"c.tsr": file(3, 1, [4]int32{1, 1, 1, 5}, int32s(5)).bytes(),
	}), &format.Options{Debug: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestChangedBeforeUse: a file of a directory is mapped when its tensor is first used, and
// then it is the one whose header was read, or an error that names it.
func TestChangedBeforeUse(t *testing.T) {
	testhost.NeedReplace(t)
	testhost.NeedMaps(t)
	other := file(2, 1, [4]int32{1, 1, 1, 4}, make([]byte, 4)).bytes()
	for _, tt := range []struct {
		name   string
		change func(path string) error
		want   error
	}{
		{"nothing", func(string) error { return nil }, nil},
		{"cut", func(path string) error { return os.Truncate(path, 64) }, format.ErrTruncated},
		{"replaced", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", other, 0o666), os.Rename(path+".new", path))
		}, format.ErrCorrupt},
		{"overwritten", func(path string) error {
			return errors.Join(os.WriteFile(path, good, 0o666), os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)))
		}, format.ErrCorrupt},
		{"removed", os.Remove, os.ErrNotExist},
		{"a link to another", func(path string) error { return errors.Join(os.Remove(path), os.Symlink("other.tsr", path)) }, format.ErrCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string][]byte{"a.tsr": good, "b.tsr": good, "other.tsr": other})
			f, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			at := filepath.Join(dir, "b.tsr")
			if err := tt.change(at); err != nil {
				t.Fatal(err)
			}
			_, err = f.Tensor("b")
			if tt.want == nil && err != nil || !errors.Is(err, tt.want) {
				t.Errorf("the tensor: %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), `tensor "b"`)) {
				t.Errorf("%q does not name the tensor and its file", err)
			}
			if _, err := f.Verify(t.Context()); !errors.Is(err, tt.want) {
				t.Errorf("Verify: %v", err)
			}
			v, err := f.Tensor("a")
			if err == nil {
				_, err = v.Bytes()
			}
			if err != nil {
				t.Errorf("the others: %v", err)
			}
		})
	}
}

// TestZeroFile uses a File that nobody opened: errors and nothing, no panic.
func TestZeroFile(t *testing.T) {
	var f File
	_, tensorErr := f.Tensor("w")
	_, verifyErr := f.Verify(t.Context())
	_, pinErr := f.Pin()
	for what, err := range map[string]error{
		"Tensor": tensorErr, "Verify": verifyErr, "Pin": pinErr, "Prefetch": f.Prefetch(), "Do": f.Do(func() error { return nil }),
	} {
		if !errors.Is(err, format.ErrClosed) {
			t.Errorf("%s = %v, want ErrClosed", what, err)
		}
	}
	if f.Format() != "" || f.Version() != "" || f.Path() != "" || f.Len() != 0 || f.Metadata() != nil || f.Notes() != nil {
		t.Errorf("%q %q %q, %d tensors, %v, %q", f.Format(), f.Version(), f.Path(), f.Len(), f.Metadata(), f.Notes())
	}
	for name := range f.Tensors() {
		t.Errorf("tensor %q", name)
	}
	if s := f.Stats(); s.FileSize != 0 || s.Resident != -1 {
		t.Errorf("%+v", s)
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, ok := From(f.Model); ok {
		t.Error("From takes a model of no format")
	}
}

// TestFrom finds the File of a model that package format opened.
func TestFrom(t *testing.T) {
	m, err := format.OpenBytes(good, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, ok := From(m)
	if !ok || f.Model != m || f.Len() != 1 {
		t.Errorf("%v, %v", f, ok)
	}
}
