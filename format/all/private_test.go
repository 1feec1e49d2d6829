package all_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	serving "github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// singles are models of one file, of all formats.
func singles(t *testing.T) (list []several) {
	t.Helper()
	for _, name := range []string{"tsr", "mag", "mobi", "mle", "wia", "safetensors", "gguf", "npy", "npz", "onnx"} {
		list = append(list, several{name: name + ", one file", files: map[string]string{"m." + name: string(small(t, name))}, entry: "m." + name})
	}
	return list
}

// privateDoor is a way to open a model in a directory. isBytes means that the file which opens it is not read from there.
type privateDoor struct {
	name    string
	isBytes bool
	needs   func(s several) bool
	open    func(t *testing.T, dir string, s several, o *format.Options) (*format.Model, error)
}

// hasEntry reports whether a file opens the model; a directory has no bytes.
func hasEntry(s several) bool { return s.entry != "" }

func isAny(several) bool { return true }

// onDisk is a reader of a file, which opens the others of its directory.
type onDisk struct {
	*os.File
	dir string
}

func (f onDisk) ReaderInfo() format.ReaderInfo {
	return format.ReaderInfo{Path: filepath.Base(f.Name())}
}

func (f onDisk) Sibling(name string) (io.ReaderAt, int64, error) {
	other, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := other.Stat()
	if err != nil {
		return nil, 0, err
	}
	return onDisk{other, f.dir}, info.Size(), nil
}

func (f onDisk) Parsed() {}
func (f onDisk) Cancel() { f.Close() }

// sequential is a file system whose files can only be read from their beginning.
type sequential struct{ fs.ReadDirFS }

func (s sequential) Open(name string) (fs.File, error) {
	f, err := s.ReadDirFS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct{ fs.File }{f}, nil
}

// random is a file system whose files are read on demand.
type random struct{ fs.ReadDirFS }

func (s random) Open(name string) (fs.File, error) {
	f, err := s.ReadDirFS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct {
		fs.File
		io.ReaderAt
	}{f, f.(io.ReaderAt)}, nil
}

// openOn opens a model in a file system.
func openOn(wrap func(fs.ReadDirFS) fs.FS) func(*testing.T, string, several, *format.Options) (*format.Model, error) {
	return func(_ *testing.T, dir string, s several, o *format.Options) (*format.Model, error) {
		fsys := os.DirFS(filepath.Dir(dir)).(fs.ReadDirFS)
		return format.OpenFS(wrap(fsys), path.Join(filepath.Base(dir), s.entry), o)
	}
}

var privateDoors = []privateDoor{
	{"path", false, isAny, func(_ *testing.T, dir string, s several, o *format.Options) (*format.Model, error) {
		return format.Open(filepath.Join(dir, s.entry), o)
	}},
	{"directory", false, isAny, func(_ *testing.T, dir string, _ several, o *format.Options) (*format.Model, error) {
		return format.Open(dir, o)
	}},
	{"os.DirFS", false, isAny, openOn(func(f fs.ReadDirFS) fs.FS { return f })},
	{"files read on demand", false, isAny, openOn(func(f fs.ReadDirFS) fs.FS { return random{f} })},
	{"files read from their beginning", false, isAny, openOn(func(f fs.ReadDirFS) fs.FS { return sequential{f} })},
	{"descriptor", false, hasEntry, func(_ *testing.T, dir string, s several, o *format.Options) (*format.Model, error) {
		f, err := os.Open(filepath.Join(dir, s.entry))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return format.OpenFile(f, 0, -1, o)
	}},
	{"window of a descriptor", false, func(s several) bool { return s.entry != "" && s.part == "" }, func(t *testing.T, dir string, s several, o *format.Options) (*format.Model, error) {
		path := filepath.Join(dir, s.entry)
		expect.OK(t, os.WriteFile(path, []byte("12345"+s.files[s.entry]+"678"), 0o644))
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return format.OpenFile(f, 5, int64(len(s.files[s.entry])), o)
	}},
	{"bytes and Dir", true, func(s several) bool { return s.part != "" && s.entry != "" && s.name != "gguf" }, func(_ *testing.T, dir string, s several, o *format.Options) (*format.Model, error) {
		o.Dir = dir
		return format.OpenBytes([]byte(s.files[s.entry]), o)
	}},
	{"reader and siblings", false, func(s several) bool { return s.entry != "" && !strings.Contains(s.part, "/") }, func(_ *testing.T, dir string, s several, o *format.Options) (*format.Model, error) {
		r, size, err := onDisk{dir: dir}.Sibling(s.entry)
		if err != nil {
			return nil, err
		}
		return format.OpenReaderAt(r, size, o)
	}},
}

// copiesOf returns what copies of all tensors have.
func copiesOf(m *format.Model) (map[string]string, error) {
	all := map[string]string{}
	for name, v := range m.Tensors() {
		b := make([]byte, v.Size())
		_, err := v.ReadInto(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = string(b)
	}
	return all, nil
}

// TestPrivate: with Options.Private nothing that happens to the files of an open model changes it, through any door, for any kind of
// model; the files are memory that counts, and none of them stays open.
func TestPrivate(t *testing.T) {
	for _, s := range append(singles(t), severals(t)...) {
		for _, d := range privateDoors {
			if !d.needs(s) {
				continue
			}
			t.Run(s.name+"/"+d.name, func(t *testing.T) {
				dir := lay(t, t.TempDir(), s.files)
				before := len(testhost.OpenFiles())
				m, err := d.open(t, dir, s, &format.Options{Private: true, CacheBytes: 1})
				expect.OK(t, err)
				defer m.Close()
				stats := m.Stats()
				if stats.Mapped != 0 || stats.OnDemand != 0 || stats.Heap != stats.FileSize || stats.FileSize < 1 {
					t.Errorf("%d bytes are mapped, %d read on demand, %d in memory, of %d", stats.Mapped, stats.OnDemand, stats.Heap, stats.FileSize)
				}
				for _, note := range m.Notes() {
					if strings.Contains(note, "mapped") {
						t.Error("a note: ", note)
					}
				}
				if n := len(testhost.OpenFiles()); n != before && d.name != "reader and siblings" {
					t.Errorf("%d files stay open", n-before)
				}
				slicesOf := map[string][]byte{}
				want := map[string]string{}
				for name, v := range m.Tensors() {
					b, err := v.Bytes()
					expect.OK(t, err)
					slicesOf[name] = b
					want[name] = string(b)
				}
				for name, content := range s.files {
					at := filepath.Join(dir, name)
					f, err := os.OpenFile(at, os.O_WRONLY, 0)
					expect.OK(t, err)
					_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, len(content)+8), 0)
					expect.OK(t, errors.Join(err, f.Close()))
				}
				check := func(when string) {
					got, err := copiesOf(m)
					if err != nil || !cmp.Equal(want, got) {
						t.Errorf("%s: copies %q, %v, want %q", when, got, err, want)
					}
					for name, b := range slicesOf {
						if want[name] != string(b) {
							t.Errorf("%s: the slice of %s changed", when, name)
						}
					}
				}
				check("overwritten")
				if testhost.Maps() {
					for name := range s.files {
						expect.OK(t, os.Truncate(filepath.Join(dir, name), 0))
					}
					check("cut")
				}
				_, err = m.Verify(t.Context(), nil)
				expect.OK(t, errors.Join(err, m.Close()))
				if n := len(testhost.OpenFiles()); n > before { // the collector may close a file of another test
					t.Errorf("%d files stay open after Close", n-before)
				}
			})
		}
	}
}

// TestPrivateMemory: the files of a private model count for MaxMemory, and nothing else is done when they do not fit.
func TestPrivateMemory(t *testing.T) {
	for _, s := range append(singles(t), severals(t)...) {
		total := int64(0)
		for _, content := range s.files {
			total += int64(len(content))
		}
		for _, d := range privateDoors {
			if !d.needs(s) {
				continue
			}
			dir := lay(t, t.TempDir(), s.files)
			most := total - 1
			if d.isBytes {
				most -= int64(len(s.files[s.entry]))
			}
			_, err := d.open(t, dir, s, &format.Options{Private: true, MaxMemory: most})
			if !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s, %s: %v with %d of %d bytes, want ErrLimit", s.name, d.name, err, most, total)
			}
			expect.OK(t, os.RemoveAll(dir))
			lay(t, dir, s.files)
			m, err := d.open(t, dir, s, &format.Options{Private: true, MaxMemory: total + 1<<20})
			expect.OK(t, err)
			expect.OK(t, m.Close())
		}
	}
}

// TestPrivateMissing: external data that is missing is an error when it is used, as without Options.Private, and stays one.
func TestPrivateMissing(t *testing.T) {
	for _, s := range severals(t) {
		if s.name != "onnx" && s.name != "wia" {
			continue
		}
		for _, d := range privateDoors {
			if !d.needs(s) {
				continue
			}
			dir := lay(t, t.TempDir(), map[string]string{s.entry: s.files[s.entry]})
			m, err := d.open(t, dir, s, &format.Options{Private: true})
			expect.OK(t, err)
			lay(t, dir, s.files)
			_, err = copiesOf(m)
			if err == nil {
				t.Errorf("%s, %s: external data that was not there is used", s.name, d.name)
			}
			expect.OK(t, m.Close())
		}
	}
}

// ending is a context that is canceled when it was asked so often.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	e.left--
	if e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestPrivateCanceled: reading files into memory ends with the context, between two files too.
func TestPrivateCanceled(t *testing.T) {
	for _, s := range append(singles(t), severals(t)...) {
		for _, d := range privateDoors {
			if !d.needs(s) {
				continue
			}
			files := len(s.files)
			if d.isBytes || d.name == "files read from their beginning" {
				files = 1
			}
			isOpen := false
			for n := 0; !isOpen; n++ {
				dir := lay(t, t.TempDir(), s.files)
				m, err := d.open(t, dir, s, &format.Options{Private: true, Context: &ending{t.Context(), n}})
				if err == nil {
					isOpen = true
					expect.OK(t, m.Close())
					if n < files {
						t.Errorf("%s, %s: the context was asked %d times for %d files", s.name, d.name, n, files)
					}
					continue
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("%s, %s, asked %d times: %v", s.name, d.name, n, err)
				}
			}
		}
	}
}

// TestPrivateChanged: a file that grows while it is read is ErrChanged, not a mixture.
func TestPrivateChanged(t *testing.T) {
	for _, s := range singles(t) {
		for _, d := range privateDoors {
			if !d.needs(s) || d.name == "window of a descriptor" || d.name == "reader and siblings" {
				continue
			}
			dir := lay(t, t.TempDir(), s.files)
			asked := 0
			o := &format.Options{Private: true, Context: asking{t.Context(), func() {
				f, err := os.OpenFile(filepath.Join(dir, s.entry), os.O_APPEND|os.O_WRONLY, 0)
				expect.OK(t, err)
				_, err = f.WriteString(" ")
				expect.OK(t, errors.Join(err, f.Close()))
				asked++
			}}}
			_, err := d.open(t, dir, s, o)
			if !errors.Is(err, format.ErrChanged) || asked < 2 {
				t.Errorf("%s, %s, asked %d times: %v", s.name, d.name, asked, err)
			}
		}
	}
}

// TestPrivateReload: each generation of format/live is private.
func TestPrivateReload(t *testing.T) {
	for _, s := range append(singles(t), severals(t)...) {
		dir := lay(t, t.TempDir(), s.files)
		h, err := serving.Open(t.Context(), filepath.Join(dir, s.entry), &serving.Options{Open: &format.Options{Private: true}})
		expect.OK(t, err)
		stats := h.Stats()
		if stats.Mapped != 0 || stats.Heap != stats.FileSize || stats.Heap == 0 {
			t.Errorf("%s: %+v", s.name, stats)
		}
		_, err = h.ForceReload(t.Context())
		expect.OK(t, err)
		if again := h.Stats(); again.Mapped != 0 || again.Heap != stats.Heap || again.Generation != 2 {
			t.Errorf("%s, again: %+v", s.name, again)
		}
		expect.OK(t, h.Close())
	}
}
