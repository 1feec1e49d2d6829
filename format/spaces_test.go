package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// modelDir makes a directory with a model, a file next to it and a secret above.
func modelDir(t *testing.T) string {
	t.Helper()
	testhost.NeedTimes(t)
	dir := filepath.Join(t.TempDir(), "model")
	expect.OK(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	put(t, filepath.Join(dir, "m.toy"), ramp(8))
	put(t, filepath.Join(dir, "w.bin"), ramp(64))
	put(t, filepath.Join(dir, "sub", "w.bin"), bytes.Repeat([]byte{9}, 64))
	put(t, filepath.Join(dir, "..", "secret"), ramp(64))
	return dir
}

// declared opens a model with a tensor of 4 bytes at 2 in the named file.
func declared(t *testing.T, dir, name string, change ...func(*config)) *Model {
	t.Helper()
	d := &toy{tensors: []driver.Tensor{u8("own", 0, 8), in(1, u8("w", 2, 4))}}
	d.dir = func(dir driver.Dir) error {
		s, err := dir.Declare(name)
		if again, _ := dir.Declare(name); s != 1 || again != 1 {
			t.Errorf("Declare gives %d, then %d", s, again)
		}
		return err
	}
	return openToy(t, filepath.Join(dir, "m.toy"), d, change...)
}

// TestDeclared: a file is opened when a tensor in it is first used, as often as
// that fails, and closed with the model.
func TestDeclared(t *testing.T) {
	dir := modelDir(t)
	m := declared(t, dir, "sub/w.bin")
	if s := m.Stats(); s.Mapped+s.Heap+s.OnDemand != 8 || s.FileSize != 72 {
		t.Errorf("before the first use: %+v", s)
	}
	if got := bytesOf(t, m, "w"); got != "[9 9 9 9]" {
		t.Error(got)
	}
	v := m.At(1)
	if !v.ZeroCopy() || v.Info().Offset != 2 {
		t.Errorf("%+v, zero-copy %v", v.Info(), v.ZeroCopy())
	}
	r := m.spaces.files[1].region.Load()
	if s := m.Stats(); s.FileSize != 72 || !s.Lent {
		t.Errorf("%+v", s)
	}
	row, err := v.Slice(tensor.Range{From: 1, To: 3})
	if err != nil || !row.ZeroCopy() || row.Info().Offset != 3 {
		t.Errorf("a slice: %+v, %v", row.Info(), err)
	}
	expect.OK(t, m.Prefetch(t.Context()))
	if err := m.Close(); err != nil || !r.Closed() {
		t.Errorf("Close: %v, the other file is closed: %v", err, r.Closed())
	}
	for _, v := range []tensor.View{v, row, m.At(1)} {
		expect.Refused(t, tensor.ErrClosed, "after Close")(v.Bytes())
	}
}

// TestPrefetchCanceled: files that were not used yet are not opened with a canceled context.
func TestPrefetchCanceled(t *testing.T) {
	m := declared(t, modelDir(t), "sub/w.bin")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Refused(t, context.Canceled)(nil, m.Prefetch(ctx))
	if m.spaces.files[1].region.Load() != nil {
		t.Error("the file was opened")
	}
	var none context.Context
	expect.OK(t, m.Prefetch(none))
	if m.spaces.files[1].region.Load() == nil {
		t.Error("the file was not opened")
	}
}

// crowded is declared for w.bin, after as many other files as a model keeps.
func crowded(t *testing.T, dir string) *Model {
	t.Helper()
	d := &toy{tensors: []driver.Tensor{in(mostKept+1, u8("w", 2, 4))}}
	for i := range mostKept {
		put(t, filepath.Join(dir, fmt.Sprintf("%d.bin", i)), ramp(8))
	}
	d.dir = func(x driver.Dir) error {
		for i := range mostKept {
			if _, err := x.Declare(fmt.Sprintf("%d.bin", i)); err != nil {
				return err
			}
		}
		_, err := x.Declare("w.bin")
		return err
	}
	return openToy(t, filepath.Join(dir, "m.toy"), d)
}

// TestDeclaredIsConfined: nothing outside of the directory is reached.
func TestDeclaredIsConfined(t *testing.T) {
	testhost.NeedLinks(t)
	dir := modelDir(t)
	secret := filepath.Join(dir, "..", "secret")
	for link, target := range map[string]string{
		"out": "../secret", "far": secret, "up": "..", "in": "sub/w.bin", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	for name, want := range map[string]error{
		"../secret": tensor.ErrCorrupt, secret: tensor.ErrCorrupt, "sub/../../secret": tensor.ErrCorrupt,
		"out": tensor.ErrUnsupported, "far": tensor.ErrUnsupported, "up/secret": tensor.ErrUnsupported,
		"sub": tensor.ErrCorrupt, ".": tensor.ErrCorrupt, "": errAny, "loop": errAny, "w.bin/": errAny, "w.bin\x00": errAny,
		"none": os.ErrNotExist, "none/w.bin": os.ErrNotExist,
		"in": nil, "w.bin": nil, "./w.bin": nil, "sub//w.bin": nil,
	} {
		m := declared(t, dir, name)

		for what, call := range map[string]func() error{
			"use":    func() error { _, err := m.Tensor("w"); return err },
			"verify": func() error { _, err := m.verify(t.Context(), &VerifyOptions{}); return err },
		} {
			err := call()
			if want == nil && err == nil {
				continue
			}
			if want == nil || err == nil || want != errAny && !errors.Is(err, want) {
				t.Errorf("%s of %q: %v, want %v", what, name, err, want)
				continue
			}
			wantToyError(t, what+" of "+name, err, err, `tensor "w"`)
		}
		if _, err := m.At(0).Bytes(); err != nil {
			t.Errorf("%q: the model's own tensor: %v", name, err)
		}
		// The same names when the file is opened at once.
		d := &toy{dir: func(dir driver.Dir) error { _, _, err := dir.Open(name); return err }}
		r := new(source.Region)
		err := r.Open(filepath.Join(dir, "m.toy"), source.Options{})
		expect.OK(t, err)
		m = &Model{}
		err = m.openRegion(r, toyConfig(d, func(c *config) { c.path = filepath.Join(dir, "m.toy") }))
		if (err == nil) != (want == nil) || want != nil && want != errAny && !errors.Is(err, want) && !errors.Is(err, source.ErrNotRegular) {
			t.Errorf("opening %q: %v, want %v", name, err, want)
		}
		if err == nil {
			m.Close()
		}
	}
}

var errAny = errors.New("any error")

// TestDeclaredChanges: a model keeps the files that were declared, up to mostKept of them, whatever takes their place. The
// others must stay what they were until they are used.
func TestDeclaredChanges(t *testing.T) {
	testhost.NeedLinks(t)
	for _, tt := range []struct {
		name   string
		change func(path string) error
		kept   error // what the use of a file that was kept returns
		want   error // and that of another one
	}{
		{"nothing", func(string) error { return nil }, nil, nil},
		{"removed", os.Remove, nil, os.ErrNotExist},
		{"replaced", inTime(func(p string) error {
			return errors.Join(os.WriteFile(p+".new", make([]byte, 64), 0o644), os.Rename(p+".new", p))
		}), nil, source.ErrReplaced},
		{"grown", inTime(func(p string) error { return os.Truncate(p, 65) }), source.ErrReplaced, source.ErrReplaced},
		{"other times", func(p string) error { return os.Chtimes(p, time.Time{}, time.Unix(1, 0)) }, source.ErrReplaced, source.ErrReplaced},
		{"now a directory", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) }, nil, tensor.ErrCorrupt},
		{"now a link to a secret", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("../secret", p)) }, nil, tensor.ErrUnsupported},
	} {
		for _, isKept := range []bool{true, false} {
			dir := modelDir(t)
			m := declared(t, dir, "w.bin")
			want := tt.kept
			if !isKept {
				m = crowded(t, dir)
				want = tt.want
			}
			if err := tt.change(filepath.Join(dir, "w.bin")); err != nil {
				t.Skip(err)
			}
			_, err := m.Tensor("w")
			if !errors.Is(err, want) {
				t.Errorf("%s, kept %v: %v, want %v", tt.name, isKept, err, want)
			}
			if err == nil && bytesOf(t, m, "w") != "[2 3 4 5]" {
				t.Errorf("%s, kept %v: %s", tt.name, isKept, bytesOf(t, m, "w"))
			}
		}
	}
	// A file that comes later is not the one that the model was opened with.
	dir := modelDir(t)
	m := declared(t, dir, "late.bin")
	expect.Refused(t, os.ErrNotExist, "missing")(m.Tensor("w"))
	put(t, filepath.Join(dir, "late.bin"), ramp(64))
	_, err := m.Tensor("w")
	wantToyError(t, "a file that came later", err, tensor.ErrCorrupt, `tensor "w"`)
}

// TestShards: files that are opened while parsing are part of the model.
func TestToyShards(t *testing.T) {
	dir := modelDir(t)
	var entries []driver.DirEntry
	var kept driver.Dir
	var regions []*source.Region
	d := &toy{
		tensors: []driver.Tensor{in(1, u8("a", 0, 64)), in(2, u8("b", 60, 4))},
		dir: func(x driver.Dir) (err error) {
			kept = x
			if entries, err = x.Entries(); err != nil {
				return err
			}
			for i, name := range []string{"w.bin", "sub/w.bin", "w.bin"} {
				src, s, err := x.Open(name)
				if err != nil {
					return err
				}
				if want := driver.Space(i%2 + 1); s != want || src.Path() != filepath.Join(dir, filepath.FromSlash(name)) || src.Size() != 64 {
					t.Errorf("%s: space %d, path %s, %d bytes", name, s, src.Path(), src.Size())
				}
				again, n, err := x.Open(name)
				if err != nil || n != s || again.Path() != src.Path() {
					t.Errorf("Open again: %v", err)
				}
			}
			return nil
		},
	}
	m := &Model{}
	expect.OK(t, m.openTree(toyConfig(d, asDirectory(dir))))
	for r := range m.regions() {
		regions = append(regions, r)
	}
	expect.Equal(t, []driver.DirEntry{{Name: "m.toy", Regular: true}, {Name: "sub", Dir: true}, {Name: "w.bin", Regular: true}}, entries)
	if got := bytesOf(t, m, "b"); got != "[9 9 9 9]" || m.Stats().FileSize != 128 {
		t.Errorf("%s, %+v", got, m.Stats())
	}
	_, err := m.verify(t.Context(), &VerifyOptions{})
	expect.OK(t, err)
	_, errDeclare := kept.Declare("x")
	_, _, errOpen := kept.Open("w.bin")
	_, errEntries := kept.Entries()
	_, _, _, errPeek := kept.Peek("w.bin", make([]byte, 8))
	for _, err := range []error{errDeclare, errOpen, errEntries, errPeek} {
		if err != errFrozen {
			t.Errorf("after parsing: %v, want %v", err, errFrozen)
		}
	}
	unpin, err := m.Pin()
	expect.OK(t, err)
	b, err := m.At(1).Bytes()
	m.Close()
	if err != nil || !bytes.Equal(b, []byte{9, 9, 9, 9}) {
		t.Errorf("a pinned slice: %v, %v", b, err)
	}
	unpin()
	for _, r := range regions {
		if !r.Closed() {
			t.Error("a file is still open")
		}
	}
}

// TestNotMapped: a model whose file did not get mapped says so. On systems with
// mappings a file that was mapped must not.
func TestNotMapped(t *testing.T) {
	dir := modelDir(t)
	d := &toy{tensors: []driver.Tensor{u8("w", 0, 8)}}
	note := []string{"the file is not mapped: it was read into memory"}
	m := open(t, source.FromBytes(ramp(8)), d, func(c *config) { c.path = "m.toy" })
	if s := m.Stats(); s.Mapped != 0 || s.Heap != 8 || !cmp.Equal(m.Notes(), note) {
		t.Errorf("heap: %+v, %q", s, m.Notes())
	}
	m = open(t, source.FromBytes(ramp(8)), d)
	if s := m.Stats(); s.Heap != 8 || m.Notes() != nil {
		t.Errorf("bytes of the caller: %+v, %q", s, m.Notes())
	}
	switch runtime.GOOS {
	case "linux", "android", "darwin", "ios", "windows":
	default:
		return
	}
	m = openToy(t, filepath.Join(dir, "m.toy"), d)
	if s := m.Stats(); s.Mapped != 8 || s.Heap != 0 || m.Notes() != nil {
		t.Errorf("mapped: %+v, %q", s, m.Notes())
	}
	m = declared(t, dir, "w.bin")
	expect.OK(t, m.At(1).Use(func([]byte) error { return nil }))
	if s := m.Stats(); s.Mapped != 72 || s.Heap != 0 || m.Notes() != nil {
		t.Errorf("mapped, with another file: %+v, %q", s, m.Notes())
	}
	if s := m.spaces.files[1]; s.region.Load() != nil {
		heap := source.FromBytes(ramp(64))
		heap.SetOrigin("toy", "w.bin")
		defer s.region.Swap(heap).Close()
	}
	if s := m.Stats(); s.Mapped != 8 || s.Heap != 64 || !cmp.Equal(m.Notes(), note) {
		t.Errorf("another file on the heap: %+v, %q", s, m.Notes())
	}
}

// TestNoDirectory: a model without a directory has no other files, in particular not
// those of the root directory.
func TestNoDirectory(t *testing.T) {
	testhost.NeedTimes(t)
	path := filepath.Join(t.TempDir(), "w.bin")
	put(t, path, ramp(8))
	below := strings.TrimLeft(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), "/")
	s := &spaces{c: new(config)}
	s.own.of = s
	s.files = []*file{&s.own}
	expect.Refused(t, errNoDir, "Dir")((&input{f: &s.own}).Dir())
	expect.Refused(t, errNoDir, "Entries")(s.Entries())
	_, _, peeked, err := s.Peek(below, make([]byte, 8))
	expect.Refused(t, errNoDir, "Peek")(peeked, err)
	n, err := s.Declare(below)
	expect.OK(t, err)
	expect.Refused(t, errNoDir, below)(s.region(n))
}

// TestDeclaredAfterClose: what was declared is not mapped once the model is closed,
// when nobody would give it back.
func TestDeclaredAfterClose(t *testing.T) {
	s := &spaces{c: new(config), others: inDirectory(modelDir(t), "")}
	s.files = []*file{&s.own}
	n, err := s.Declare("w.bin")
	expect.OK(t, err)
	s.endParsing()
	expect.OK(t, s.close())
	expect.Refused(t, tensor.ErrClosed)(s.region(n))
}

// inTime is change, after which the file has its modification time again.
func inTime(change func(path string) error) func(path string) error {
	return func(path string) error {
		info, err := os.Stat(path)
		return errors.Join(err, change(path), os.Chtimes(path, time.Time{}, info.ModTime()))
	}
}

// TestViewOutsideIndex: tensors of attributes are views too, and say what is wrong.
func TestViewOutsideIndex(t *testing.T) {
	d := &toy{}
	var in driver.Dir
	var declared, missing driver.Space
	d.dir = func(x driver.Dir) (err error) {
		in = x
		declared, _ = x.Declare("w.bin")
		missing, err = x.Declare("none.bin")
		return err
	}
	m := openToy(t, filepath.Join(modelDir(t), "m.toy"), d)
	view := func(s driver.Space, off, size int64) tensor.View {
		return in.View(s, &tensor.Info{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{size}, Offset: off, Size: size})
	}
	v := view(declared, 2, 4)
	if b, err := v.Bytes(); err != nil || fmt.Sprint(b) != "[2 3 4 5]" {
		t.Errorf("%v, %v", b, err)
	}
	odd := in.View(declared, &tensor.Info{Name: "a", DType: tensor.Uint16, Shape: tensor.Shape{1}, Offset: 3, Size: 2})
	if b, err := odd.Bytes(); err != nil || fmt.Sprint(b) != "[3 4]" || odd.ZeroCopy() {
		t.Errorf("misaligned: %v, %v", b, err)
	}
	for _, c := range []struct {
		says string
		v    tensor.View
		want error
	}{
		{"1099511627776 bytes at 2 of a file of 64", view(declared, 2, 1<<40), tensor.ErrTruncated},
		{"4 bytes at 61 of a file of 64", view(declared, 61, 4), tensor.ErrTruncated},
		{"4 bytes at 65 of a file of 64", view(declared, 65, 4), tensor.ErrTruncated},
		{"4 bytes at -1 of a file of 64", view(declared, -1, 4), tensor.ErrTruncated},
		{"none.bin", view(missing, 0, 4), os.ErrNotExist},
		{"m.toy", view(0, 0, 4), tensor.ErrCorrupt},
		{"a file that the model does not have", view(9, 0, 4), tensor.ErrCorrupt},
	} {
		expect.Says(t, c.want, c.says)(c.v.Bytes())
	}
	m.Close()
	expect.Refused(t, tensor.ErrClosed, "after Close")(v.Bytes())
	expect.Refused(t, tensor.ErrClosed, "made after Close")(view(declared, 2, 4).Bytes())
}

// TestDeclaredShort: a declared file that is too short names the tensor that lacks bytes, also among
// neighbors that are verified together.
func TestDeclaredShort(t *testing.T) {
	dir := modelDir(t)
	d := &toy{tensors: []driver.Tensor{in(1, u8("a", 50, 8)), in(1, u8("b", 58, 8)), in(1, u8("c", 66, 8))}}
	d.dir = func(x driver.Dir) error { _, err := x.Declare("w.bin"); return err }
	m := openToy(t, filepath.Join(dir, "m.toy"), d)
	_, err := m.verify(t.Context(), &VerifyOptions{})
	wantToyError(t, "verify", err, tensor.ErrTruncated, `tensor "b"`)
	_, err = m.verify(t.Context(), &VerifyOptions{Tensors: []string{"a", "c"}})
	wantToyError(t, "verify of some", err, tensor.ErrTruncated, `tensor "c"`)
}

// TestDeclaredDirectory: what is named as a directory holds no tensor.
func TestDeclaredDirectory(t *testing.T) {
	dir := modelDir(t)
	_, err := declared(t, dir, "w.bin/").Tensor("w")
	wantToyError(t, "a slash at the end", err, source.ErrNotRegular, `tensor "w"`)
}

// TestIsInside: a range of a declared file, which Parse has not compared with its size, is used only
// if the file has it.
func TestIsInside(t *testing.T) {
	r := source.FromBytes(make([]byte, 10))
	for _, c := range []struct {
		name      string
		r         *source.Region
		off, size int64
		want      bool
	}{
		{"all", r, 0, 10, true},
		{"none at the end", r, 10, 0, true},
		{"beyond the end", r, 9, 2, false},
		{"behind the end", r, math.MaxInt64, 1, false},
		{"before the beginning", r, -1, 1, false},
		{"not mapped yet", nil, 0, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) { expect.Equal(t, c.want, isInside(c.r, c.off, c.size)) })
	}
}
