package all_test

import (
	"bytes"
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
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// several is a model of several files.
type several struct {
	name  string
	files map[string]string
	entry string // the file that opens it, "" for the directory
	part  string // another file of it
}

// opensBy reports whether the model has a door: a directory has no bytes, and a GGUF model needs its name.
func (s several) opensBy(d door) bool {
	switch d.name {
	case "descriptor", "reader and Dir":
		return s.entry != ""
	case "bytes and Dir":
		return s.entry != "" && s.name != "gguf"
	}
	return true
}

// severals are models of all formats that have several files.
func severals(t *testing.T) []several {
	t.Helper()
	list := []several{
		{"safetensors", map[string]string{"model.safetensors.index.json": index("a", "s1", "b", "sub/s2"), "s1": safe("a"), "sub/s2": safe("b")}, "model.safetensors.index.json", "s1"},
		{"safetensors, below", map[string]string{"model.safetensors.index.json": index("a", "s1", "b", "sub/s2"), "s1": safe("a"), "sub/s2": safe("b")}, "model.safetensors.index.json", "sub/s2"},
		{"gguf", map[string]string{"p-00001-of-00002.gguf": split(0, 2), "p-00002-of-00002.gguf": split(1, 2)}, "p-00001-of-00002.gguf", "p-00002-of-00002.gguf"},
		{"tsr", map[string]string{"v.tsr": string(small(t, "tsr")), "w.tsr": string(small(t, "tsr"))}, "", "w.tsr"},
	}
	for _, name := range []string{"onnx", "wia"} {
		dir := t.TempDir()
		p := &schema.Schema{Tensors: []tensor.Info{{Name: "a", DType: tensor.Float32, Shape: tensor.Shape{4}}}}
		o := &format.WriteOptions{NoSync: true, ExternalFrom: 1}
		expect.OK(t, create("", filepath.Join(dir, "m."+name), p, o))
		s := several{name: name, files: map[string]string{}, entry: "m." + name}
		for _, file := range names(t, dir) {
			s.files[file] = string(expect.Read(t, filepath.Join(dir, file)))
			if file != s.entry {
				s.part = file
			}
		}
		list = append(list, s)
	}
	return list
}

// allBytes returns the bytes of all tensors of a model that opened, and closes it.
func allBytes(m *format.Model, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	defer m.Close()
	all := map[string]string{}
	for name, v := range m.Tensors() {
		b, err := v.Bytes()
		if err != nil {
			return nil, err
		}
		all[name] = string(b)
	}
	return all, nil
}

// door is a way to open a model in a directory below base.
type door struct {
	name string
	isFS bool
	open func(t *testing.T, base, dir, entry, root string) (*format.Model, error) // root is below base, or ""
}

// below returns the options for a root below base.
func below(base, root string) *format.Options {
	o := &format.Options{}
	if root != "" {
		o.Root = filepath.Join(base, root)
	}
	return o
}

var doors = []door{
	{"path", false, func(_ *testing.T, base, dir, entry, root string) (*format.Model, error) {
		return format.Open(filepath.Join(base, dir, entry), below(base, root))
	}},
	{"directory", false, func(_ *testing.T, base, dir, _, root string) (*format.Model, error) {
		return format.Open(filepath.Join(base, dir), below(base, root))
	}},
	{"os.DirFS", true, func(_ *testing.T, base, dir, entry, root string) (*format.Model, error) {
		return format.OpenFS(os.DirFS(base), path.Join(dir, entry), &format.Options{Root: root})
	}},
	{"directory of os.DirFS", true, func(_ *testing.T, base, dir, _, root string) (*format.Model, error) {
		return format.OpenFS(os.DirFS(base), dir, &format.Options{Root: root})
	}},
	{"os.Root.FS", true, func(t *testing.T, base, dir, entry, root string) (*format.Model, error) {
		r, err := os.OpenRoot(base)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { r.Close() })
		return format.OpenFS(r.FS(), path.Join(dir, entry), &format.Options{Root: root})
	}},
	{"descriptor", false, func(_ *testing.T, base, dir, entry, root string) (*format.Model, error) {
		f, err := os.Open(filepath.Join(base, dir, entry))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return format.OpenFile(f, 0, -1, below(base, root))
	}},
	{"bytes and Dir", false, func(_ *testing.T, base, dir, entry, root string) (*format.Model, error) {
		b, err := os.ReadFile(filepath.Join(base, dir, entry))
		if err != nil {
			return nil, err
		}
		o := below(base, root)
		o.Dir = filepath.Join(base, dir)
		return format.OpenBytes(b, o)
	}},
	{"reader and Dir", false, func(_ *testing.T, base, dir, entry, root string) (*format.Model, error) {
		b, err := os.ReadFile(filepath.Join(base, dir, entry))
		if err != nil {
			return nil, err
		}
		o := below(base, root)
		o.Dir = filepath.Join(base, dir)
		r := struct { // with the name, by which GGUF knows the other parts
			io.ReaderAt
			readerName
		}{bytes.NewReader(b), readerName(entry)}
		return format.OpenReaderAt(r, int64(len(b)), o)
	}},
}

// readerName is the name of a reader.
type readerName string

func (n readerName) ReaderInfo() format.ReaderInfo { return format.ReaderInfo{Path: string(n)} }

// TestDoors: the rule of links is the same for every door, kind of link and model of several files.
func TestDoors(t *testing.T) {
	testhost.NeedLinks(t)
	const snapshot = "cache/snapshots/r1"
	unsupported := format.ErrUnsupported
	for _, tt := range []struct {
		name string
		dir  string // of the model
		root string
		at   string // where the part is instead, below base
		link string // what its name is a link to; UP is the way from the part to the directory, BASE is base
		want error
		fs   error // of file systems, if it differs
	}{
		{"no link", "model", "", "", "", nil, nil},
		{"within", "model", "", "model/real", "->UPreal", nil, nil},
		{"within, absolute", "model", "", "model/real", "->BASE/model/real", nil, unsupported},
		{"out and back", "model", "", "model/real", "->UP../model/real", nil, nil},
		{"out by a level", "model", "", "real", "->UP../real", unsupported, nil},
		{"out, absolute", "model", "", "real", "->BASE/real", unsupported, nil},
		{"dangling", "model", "", "", "->UPnone", fs.ErrNotExist, nil},
		{"a loop", "model", "", "model/loop", "->UPagain", unsupported, nil},
		{"a directory", "model", "", "model/real/x", "->UPreal", format.ErrCorrupt, nil},
		{"the system's", "model", "", "", "->/dev/zero", unsupported, nil},
		{"Options.Root", "model", "other", "other/real", "->UP../other/real", nil, nil},
		{"not in Options.Root", "model", "other", "real", "->UP../real", unsupported, nil},
		{"a blob", snapshot, "", "cache/blobs/b", "->UP../../blobs/b", nil, nil},
		{"no blob", snapshot, "", "cache/other/b", "->UP../../other/b", unsupported, nil},
		{"another snapshot", snapshot, "", "cache/snapshots/r2/b", "->UP../r2/b", unsupported, nil},
		{"out of the cache", snapshot, "", "real", "->UP../../../real", unsupported, nil},
		{"a missing blob", snapshot, "", "cache/blobs/other", "->UP../../blobs/b", fs.ErrNotExist, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range severals(t) {
				base, err := filepath.EvalSymlinks(t.TempDir())
				expect.OK(t, err)
				lay(t, filepath.Join(base, "plain"), s.files)
				want, err := allBytes(format.Open(filepath.Join(base, "plain", s.entry), nil))
				expect.OK(t, err)
				lay(t, filepath.Join(base, tt.dir), s.files)
				lay(t, base, map[string]string{"other/x": "", "cache/blobs/x": "x"})
				if tt.link != "" {
					up := strings.Repeat("../", strings.Count(s.part, "/"))
					link := strings.NewReplacer("UP", up, "BASE", base).Replace(tt.link)
					expect.OK(t, os.Remove(filepath.Join(base, tt.dir, s.part)))
					lay(t, base, map[string]string{path.Join(tt.dir, s.part): link})
				}
				switch {
				case tt.name == "a loop":
					lay(t, base, map[string]string{"model/again": "->" + s.part})
				case tt.at != "":
					lay(t, base, map[string]string{tt.at: s.files[s.part]})
				}
				for _, d := range doors {
					if !s.opensBy(d) || s.name == "tsr" && tt.name == "a directory" { // which is not of the model
						continue
					}
					wanted := tt.want
					if d.isFS && tt.fs != nil {
						wanted = tt.fs
					}
					isAlone := s.name == "gguf" && tt.name == "a directory" && strings.HasPrefix(d.name, "directory") // only the other part is listed
					if isAlone {
						wanted = format.ErrUnsupported
					}
					got, err := allBytes(d.open(t, base, tt.dir, s.entry, tt.root))
					if wanted == nil && (err != nil || !cmp.Equal(want, got)) {
						t.Errorf("%s, %s: %v, %v, want %v", s.name, d.name, got, err, want)
					}
					if wanted != nil && !errors.Is(err, wanted) {
						t.Errorf("%s, %s: %v, want %v", s.name, d.name, err, wanted)
					}
					if wanted == unsupported && !isAlone && (err == nil || errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "is a link to")) {
						t.Errorf("%s, %s: %v names no link, or is called corrupt", s.name, d.name, err)
					}
				}
			}
		})
	}
}

// TestSiblings: a reader with siblings has the other files by their names.
func TestSiblings(t *testing.T) {
	for _, s := range severals(t) {
		if s.entry == "" || strings.Contains(s.part, "/") {
			continue
		}
		dir := lay(t, t.TempDir(), s.files)
		want, err := allBytes(format.Open(filepath.Join(dir, s.entry), nil))
		expect.OK(t, err)
		missing := ""
		r := siblings{bytes.NewReader([]byte(s.files[s.entry])), readerName(s.entry), s.files, &missing}
		got, err := allBytes(format.OpenReaderAt(r, int64(len(s.files[s.entry])), nil))
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, %v, want %v", s.name, got, err, want)
		}
		missing = s.part
		_, err = allBytes(format.OpenReaderAt(r, int64(len(s.files[s.entry])), nil))
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s without a part: %v", s.name, err)
		}
	}
}

// siblings is a reader with other files.
type siblings struct {
	io.ReaderAt
	readerName
	files   map[string]string
	missing *string
}

func (s siblings) Sibling(name string) (io.ReaderAt, int64, error) {
	text, ok := s.files[name]
	if !ok || name == *s.missing {
		return nil, 0, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return strings.NewReader(text), int64(len(text)), nil
}
