package tsr

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
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

// TestDirectoryClose closes during a use of one tensor: Close waits, no use of
// any other tensor begins, and afterwards everything says ErrClosed.
func TestDirectoryClose(t *testing.T) {
	f := three(t)
	a, c := f.At(0), f.At(2)
	inside, closed := make(chan bool), make(chan error)
	var group sync.WaitGroup
	group.Go(func() {
		err := c.Use(func(b []byte) error {
			inside <- true
			// Close is on its way when the other tensors are refused.
			for a.Use(func([]byte) error { return nil }) == nil {
				runtime.Gosched()
			}
			select {
			case <-closed:
				t.Error("Close did not wait")
			default:
			}
			if b[0] != int32s(1)[0] {
				t.Error("the data is gone")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	go func() { closed <- f.Close() }()
	group.Wait()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for i := range f.Len() {
		refuses(t, f.At(i))
	}
	refuses(t, a)
	if _, err := f.Verify(t.Context()); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Verify: %v", err)
	}
	if _, err := f.Pin(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Pin: %v", err)
	}
	if err := f.Prefetch(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Prefetch: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func refuses(t *testing.T, v tensor.View) {
	t.Helper()
	_, bytesErr := v.Bytes()
	_, readErr := v.ReadInto(make([]byte, v.Info().Size))
	_, cloneErr := v.Clone()
	_, decodeErr := tensor.Decode[float32](nil, v)
	for _, err := range []error{bytesErr, readErr, cloneErr, decodeErr, v.Use(func([]byte) error { return nil })} {
		if !errors.Is(err, format.ErrClosed) {
			t.Errorf("%s: %v", v.Name(), err)
		}
	}
}

func TestDirectoryPin(t *testing.T) {
	f := three(t)
	raw, err := f.At(1).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	unpin, err := f.Pin()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if raw[4] != 104 {
		t.Error("the data is gone")
	}
	unpin()
	unpin()
	refuses(t, f.At(1))
}

func TestDirectoryClone(t *testing.T) {
	f := three(t)
	v, err := f.At(2).Clone()
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	got, err := tensor.Decode[int32](nil, v)
	if err != nil || got[4] != 70004 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestFailedOpenUnmaps opens a directory whose last file is bad, and looks for
// what is left of the others.
func TestFailedOpenUnmaps(t *testing.T) {
	dir := tree(t, map[string][]byte{"a.tsr": good, "b.tsr": good})
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip("no list of mappings here: ", err)
		}
		return strings.Contains(string(maps), dir)
	}
	f, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if mapped() {
		t.Skip("built to keep mappings after Close")
	}
	write(t, filepath.Join(dir, "c.tsr"), good[:65])
	if _, err := Open(dir, nil); err == nil {
		t.Fatal("no error")
	}
	if mapped() {
		t.Error("files are still mapped")
	}
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

// TestCut cuts files while they are mapped.
func TestCut(t *testing.T) {
	testhost.NeedCuts(t)
	const n = 1 << 16
	large := file(2, 1, [4]int32{1, 1, 1, n}, make([]byte, n)).bytes()
	dir := tree(t, map[string][]byte{"a.tsr": good, "large.tsr": large, "z.tsr": good})
	for _, path := range []string{dir, filepath.Join(dir, "large.tsr")} {
		f, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		at := filepath.Join(dir, "large.tsr")
		// Prefetch maps the files of a directory.
		if err := errors.Join(f.Prefetch(), os.Truncate(at, 4096)); err != nil {
			t.Fatal(err)
		}
		var e *format.Error
		_, err = f.Verify(t.Context())
		if !errors.As(err, &e) || !errors.Is(err, format.ErrTruncated) || e.Path != at || e.Field != `tensor "large"` || e.Offset < 4096 || e.Format != "tsr" {
			t.Errorf("Verify: %v (%+v)", err, e)
		}
		if _, err := f.Verify(t.Context(), format.WithTensors("large")); !errors.Is(err, format.ErrTruncated) {
			t.Errorf("Verify of it alone: %v", err)
		}
		v, _ := f.Tensor("large")
		if _, err := v.ReadInto(make([]byte, n)); !errors.As(err, &e) || !errors.Is(err, format.ErrTruncated) || e.Path != at {
			t.Errorf("ReadInto: %v", err)
		}
		if _, err := tensor.Decode[float32](nil, v); !errors.Is(err, format.ErrTruncated) {
			t.Errorf("Decode: %v", err)
		}
		if v, err := f.Tensor("a"); err == nil {
			if _, err := v.ReadInto(make([]byte, 3)); err != nil {
				t.Errorf("another tensor: %v", err)
			}
			if _, err := f.Verify(t.Context(), format.WithTensors("a", "z", "a")); err != nil {
				t.Errorf("Verify of others: %v", err)
			}
		}
		if err := os.WriteFile(at, large, 0o666); err != nil {
			t.Fatal(err)
		}
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
