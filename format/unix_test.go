//go:build linux || darwin

package format

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// cutModel opens a model of eight pages with a tensor a page, whose file has two
// left, and a declared file of four pages, which has one left: tensors "x0"
// to "x3".
func cutModel(t *testing.T, d *toy, change ...func(*config)) *Model {
	t.Helper()
	testhost.NeedCuts(t)
	page := int64(os.Getpagesize())
	dir := t.TempDir()
	path, other := filepath.Join(dir, "m.toy"), filepath.Join(dir, "x.bin")
	put(t, path, make([]byte, 8*page))
	put(t, other, make([]byte, 4*page))
	for i := range int64(8) {
		d.tensors = append(d.tensors, u8("t"+string(rune('0'+i)), i*page, page))
	}
	for i := range int64(4) {
		d.tensors = append(d.tensors, in(1, u8("x"+string(rune('0'+i)), i*page, page)))
	}
	d.tensors = append(d.tensors, driver.Tensor{Name: []byte("odd"), DType: tensor.Uint16, Shape: tensor.Shape{page / 2}, Offset: 5*page + 1, Size: page})
	d.dir = func(dir driver.Dir) error { _, err := dir.Declare("x.bin"); return err }
	m := openToy(t, path, d, change...)
	_, err := m.Tensor("x0")
	expect.OK(t, err)
	expect.OK(t, errors.Join(os.Truncate(path, 2*page), os.Truncate(other, page)))
	return m
}

// sum reads all bytes.
func sum(b []byte) (n int) {
	for _, x := range b {
		n += int(x)
	}
	return n
}

var total int

// TestCutShort: a fault in any file of a model names the tensor whose bytes are
// gone, wherever it is caught.
func TestCutShort(t *testing.T) {
	m := cutModel(t, &toy{})
	views, raw := map[string]tensor.View{}, map[string][]byte{}
	for name, v := range m.Tensors() {
		views[name] = v
		raw[name], _ = v.Bytes()
	}
	t1, t6, x2, outer := raw["t1"], raw["t6"], raw["x2"], views["t1"]
	for _, tt := range []struct {
		name  string
		f     func() error
		want  error
		field string
	}{
		{"Use of what is left", func() error { return outer.Use(func(b []byte) error { total += sum(b); return nil }) }, nil, ""},
		{"Use", func() error { return views["t3"].Use(func(b []byte) error { total += sum(b); return nil }) }, tensor.ErrTruncated, `tensor "t3"`},
		{"Use, of another tensor", func() error { return outer.Use(func([]byte) error { total += sum(t6); return nil }) }, tensor.ErrTruncated, `tensor "t6"`},
		{"Use, of another file", func() error { return outer.Use(func([]byte) error { total += sum(x2); return nil }) }, tensor.ErrTruncated, `tensor "x2"`},
		{"Use in another file, of this", func() error { return views["x0"].Use(func([]byte) error { total += sum(t6); return nil }) }, tensor.ErrTruncated, `tensor "t6"`},
		{"nested", func() error {
			return outer.Use(func(a []byte) error {
				return views["x0"].Use(func(b []byte) error { total += sum(a) + sum(b) + sum(x2); return nil })
			})
		}, tensor.ErrTruncated, `tensor "x2"`},
		{"after an inner fault", func() error {
			return outer.Use(func(a []byte) error {
				expect.Refused(t, tensor.ErrTruncated, "inside")(nil, views["t2"].Use(func(b []byte) error { total += sum(b); return nil }))
				total += sum(t1)
				return errMine
			})
		}, errMine, ""},
		{"Do", func() error { return m.Guard(func() error { total += sum(t1) + sum(t6); return nil }) }, tensor.ErrTruncated, `tensor "t6"`},
		{"Do, of another file", func() error { return m.Guard(func() error { total += sum(x2); return nil }) }, tensor.ErrTruncated, `tensor "x2"`},
		{"ReadInto", func() error { _, err := views["t4"].ReadInto(make([]byte, len(t1))); return err }, tensor.ErrTruncated, `tensor "t4"`},
		{"ReadAt", func() error { _, err := views["x3"].ReadAt(make([]byte, 9), 7); return err }, tensor.ErrTruncated, `tensor "x3"`},
		{"Clone", func() error { _, err := views["t7"].Clone(); return err }, tensor.ErrTruncated, `tensor "t7"`},
		{"Digest", func() error { _, err := views["x1"].Digest(); return err }, tensor.ErrTruncated, `tensor "x1"`},
		{"a copy of what is misaligned", func() error { _, err := views["odd"].Bytes(); return err }, tensor.ErrTruncated, `tensor "t5"`},
		{"a system call", func() error {
			return views["t6"].Use(func(b []byte) error {
				r, w, err := os.Pipe()
				if err != nil {
					return err
				}
				defer r.Close()
				defer w.Close()
				_, err = w.Write(b[:100])
				return err
			})
		}, tensor.ErrTruncated, `tensor "t6"`},
	} {
		err := tt.f()
		if tt.want == nil || tt.want == errMine {
			if err != tt.want {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		wantToyError(t, tt.name, err, tt.want, tt.field)
	}
	// What is not the model's stays a panic.
	other := cutModel(t, &toy{})
	v, _ := other.Tensor("t6")
	foreign, _ := v.Bytes()
	err := other.Guard(func() error {
		return m.Guard(func() error { total += sum(foreign); return nil })
	})
	wantToyError(t, "another model's fault", err, tensor.ErrTruncated, `tensor "t6"`)
}

// TestVerifyCutShort: verification meets missing bytes on its workers.
func TestVerifyCutShort(t *testing.T) {
	for _, workers := range []int{1, 4} {
		m := cutModel(t, &toy{})
		_, err := m.verify(t.Context(), &VerifyOptions{Workers: workers})
		wantToyError(t, "all", err, tensor.ErrTruncated, `tensor "t2"`)
		_, err = m.verify(t.Context(), &VerifyOptions{Workers: workers, Tensors: []string{"t1", "x0", "x3"}})
		wantToyError(t, "some", err, tensor.ErrTruncated, `tensor "x3"`)
		if _, err = m.verify(t.Context(), &VerifyOptions{Tensors: []string{"t1", "x0"}}); err != nil {
			t.Errorf("what is left: %v", err)
		}
	}
}

// TestSwappedForPipe: a pipe that takes the place of a file of the model, or of its
// directory, after that was looked at, is an error: opening it would wait for its
// other end.
func TestSwappedForPipe(t *testing.T) {
	use := func(dir string) func() error {
		m := crowded(t, dir)
		return func() error { _, err := m.At(0).Bytes(); return err }
	}
	parse := func(dir string) func() error {
		d := &toy{dir: func(d driver.Dir) error { _, _, err := d.Open("sub/w.bin"); return err }}
		return func() error {
			r := new(source.Region)
			err := r.Open(filepath.Join(dir, "m.toy"), source.Options{})
			if err != nil {
				return err
			}
			return new(Model).openRegion(r, toyConfig(d, func(c *config) { c.options.Dir = dir }))
		}
	}
	list := func(dir string) func() error {
		d := &toy{dir: func(d driver.Dir) error { _, err := d.Entries(); return err }}
		return func() error { return new(Model).openTree(toyConfig(d, asDirectory(dir))) }
	}
	for _, tt := range []struct {
		name, swapped string
		prepare       func(dir string) func() error
		want          error
	}{
		{"declared", "w.bin", use, tensor.ErrCorrupt},
		{"opened while parsing", "sub/w.bin", parse, tensor.ErrCorrupt},
		{"directory", "", use, errAny},
		{"directory of a model", "", list, errAny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := modelDir(t)
			f, path := tt.prepare(dir), filepath.Join(dir, tt.swapped)
			expect.OK(t, errors.Join(os.Rename(path, path+".old"), syscall.Mkfifo(path, 0o666)))
			done := make(chan error, 1)
			go func() { done <- f() }()
			select {
			case err := <-done:
				if err == nil || tt.want != errAny && !errors.Is(err, tt.want) {
					t.Errorf("%v, want %v", err, tt.want)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("it hangs")
			}
		})
	}
}

// limitDescriptors lets the process have n more descriptors until the test ends, or restore is called.
func limitDescriptors(t *testing.T, n uint64) (restore func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Skip(err)
	}
	few := old
	few.Cur = uint64(len(testhost.OpenFiles())) + n
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Skip(err)
	}
	restore = func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) }
	t.Cleanup(restore)
	return restore
}

// TestDescriptorsKept: a model keeps its declared files open until they are used, at most mostKept of them, and closes
// them when it is closed.
func TestDescriptorsKept(t *testing.T) {
	dir := modelDir(t)
	m := crowded(t, dir)
	var kept []*handle
	for _, f := range m.spaces.files[1:] {
		if f.kept != nil {
			kept = append(kept, f.kept)
		}
	}
	last := m.spaces.files[mostKept+1]
	if len(kept) != mostKept || last.kept != nil || last.state != present {
		t.Fatalf("%d files are kept; the last one: %v, state %d", len(kept), last.kept, last.state)
	}
	_, err := m.spaces.region(1)
	expect.OK(t, err)
	if m.spaces.files[1].kept != nil {
		t.Error("a file that is mapped is kept")
	}
	expect.OK(t, m.Close())
	for i, h := range kept {
		if _, err := h.file.Stat(); err == nil {
			t.Errorf("file %d is open after Close", i+1)
		}
	}
}

// TestFewDescriptors: a model opens if the process cannot keep its declared files open; they must stay what they were.
func TestFewDescriptors(t *testing.T) {
	dir := modelDir(t)
	crowded(t, dir).Close() // makes the files
	restore := limitDescriptors(t, 40)
	d := &toy{tensors: []driver.Tensor{in(mostKept, u8("w", 2, 4))}}
	d.dir = func(x driver.Dir) error {
		for i := range mostKept {
			if _, err := x.Declare(fmt.Sprintf("%d.bin", i)); err != nil {
				return err
			}
		}
		return nil
	}
	m := openToy(t, filepath.Join(dir, "m.toy"), d)
	restore()
	kept := 0
	for _, f := range m.spaces.files[1:] {
		if f.kept != nil {
			kept++
		}
		if f.state != present {
			t.Errorf("%s: state %d, %v", f.name, f.state, f.why)
		}
	}
	if kept == 0 || kept >= mostKept {
		t.Errorf("%d files are kept", kept)
	}
	expect.Equal(t, "[2 3 4 5]", bytesOf(t, m, "w"))
	put(t, filepath.Join(dir, "62.bin"), ramp(9))
	_, err := m.spaces.region(mostKept - 1)
	expect.Refused(t, source.ErrReplaced, "a file that was changed")(nil, err)
}

// TestNoDescriptorsKept: open models hold no descriptors once their files were used, whatever files they have.
func TestNoDescriptorsKept(t *testing.T) {
	limitDescriptors(t, 64)
	dir := modelDir(t)
	d := &toy{tensors: []driver.Tensor{u8("own", 0, 8), in(1, u8("w", 2, 4)), in(2, u8("x", 2, 4)), in(3, u8("y", 0, 8))}}
	d.dir = func(dir driver.Dir) error {
		_, declared := dir.Declare("w.bin")
		_, _, below := dir.Open("sub/w.bin")
		_, _, plain := dir.Open("m.toy")
		return errors.Join(declared, below, plain)
	}
	for range 200 {
		m := openToy(t, filepath.Join(dir, "m.toy"), d)
		for i := range m.Len() {
			_, err := m.At(i).Bytes()
			expect.OK(t, err)
		}
	}
}

// TestDoCloses: Close waits for Do.
func TestDoCloses(t *testing.T) {
	m := cutModel(t, &toy{})
	closed := make(chan struct{})
	err := m.Guard(func() error {
		go func() {
			m.Close()
			close(closed)
		}()
		for !m.main.Closed() {
			runtime.Gosched()
		}
		select {
		case <-closed:
			t.Error("Close did not wait")
		default:
		}
		return errMine
	})
	<-closed
	if err != errMine {
		t.Error(err)
	}
}
