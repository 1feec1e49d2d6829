package external

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestCheckLocation(t *testing.T) {
	for _, tt := range []struct{ name, location, reason string }{
		{"a name", "w.bin", ""},
		{"below", "data/w.bin", ""},
		{"colon in a name", "conv:0", ""},
		{"colon in a later part", "a/b:c", ""},
		{"dots in a name", "a..b", ""},
		{"three dots", "...", ""},
		{"empty", "", "is empty"},
		{"NUL", "w\x00.bin", "contains a NUL byte"},
		{"absolute", "/w.bin", "is absolute"},
		{"backslash", `data\w.bin`, "contains a backslash"},
		{"drive", "C:w.bin", "names a drive or a URL"},
		{"URL", "https://host/w.bin", "names a drive or a URL"},
		{"file URL without slashes", "file:w.bin", "names a drive or a URL"},
		{"file URL in capitals", "FILE:w.bin", "names a drive or a URL"},
		{"up", "..", "leads upwards"},
		{"up first", "../w.bin", "leads upwards"},
		{"up in between", "a/../w.bin", "leads upwards"},
		{"up last", "a/..", "leads upwards"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckLocation([]byte(tt.location))
			if tt.reason == "" {
				expect.OK(t, err)
				return
			}
			if !errors.Is(err, tensor.ErrCorrupt) || !strings.HasSuffix(err.Error(), tt.reason) {
				t.Errorf("%v, want ErrCorrupt: %s", err, tt.reason)
			}
		})
	}
}

func TestClean(t *testing.T) {
	for location, want := range map[string]string{
		"w.bin": "w.bin", "./w.bin": "w.bin", "a//b": "a/b", "a/./b": "a/b", "a/": "a/", "./": "./",
		".": ".", "a/.": "a",
	} {
		expect.Equal(t, want, Clean(location))
	}
}

// directory is a directory of a source, with files of given sizes.
type directory struct {
	driver.Dir
	sizes    map[string]int64
	opened   []string
	declared []string
	failure  error // of Declare
}

var errMissing = errors.New("missing")

func (d *directory) Open(name string) (driver.Source, driver.Space, error) {
	d.opened = append(d.opened, name)
	size, ok := d.sizes[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return &source{size: size}, driver.Space(len(d.opened)), nil
}

func (d *directory) Declare(name string) (driver.Space, error) {
	d.declared = append(d.declared, name)
	return 100, d.failure
}

func (d *directory) View(s driver.Space, info *tensor.Info) tensor.View {
	v, _ := tensor.FromInfo(*info, make([]byte, info.Size))
	return v
}

// source is a file in a directory.
type source struct {
	driver.Source
	dir  *directory
	size int64
}

func (s *source) Size() int64              { return s.size }
func (s *source) Dir() (driver.Dir, error) { return s.dir, nil }

// TestFind: a file is declared, and opened only for its size; what was found before is known.
func TestFind(t *testing.T) {
	dir := &directory{sizes: map[string]int64{"a.bin": 7}}
	src := &source{dir: dir}
	var files Files
	for _, tt := range []struct {
		name     string
		location string
		sized    bool
		space    driver.Space
		size     int64
	}{
		{"declared", "./a.bin", false, 100, -1},
		{"declared before", "./a.bin", false, 100, -1},
		{"its size", "./a.bin", true, 1, 7},
		{"opened before", "./a.bin", false, 1, 7},
		{"its size again", "./a.bin", true, 1, 7},
		{"a missing file", "b.bin", true, 100, -1},
		{"a directory", "c/", true, 100, -1},
	} {
		space, size, err := files.Find(src, []byte(tt.location), tt.sized)
		expect.OK(t, err)
		if space != tt.space || size != tt.size {
			t.Errorf("%s: space %d, %d bytes, want %d, %d", tt.name, space, size, tt.space, tt.size)
		}
	}
	expect.Equal(t, []string{"a.bin", "b.bin"}, dir.opened)
	expect.Equal(t, []string{"a.bin", "b.bin", "c/"}, dir.declared)
	expect.Equal(t, int64(7), files.Size([]byte("./a.bin")))
}

// TestFindFails: a file that cannot be declared is not remembered.
func TestFindFails(t *testing.T) {
	dir := &directory{failure: errMissing}
	src := &source{dir: dir}
	var files Files
	for range 2 {
		_, _, err := files.Find(src, []byte("a.bin"), false)
		if !errors.Is(err, errMissing) {
			t.Errorf("%v, want that of Declare", err)
		}
	}
	expect.Equal(t, []string{"a.bin", "a.bin"}, dir.declared)
}

// TestView: a model that is being written has no views, an open one has that of its directory.
func TestView(t *testing.T) {
	info := tensor.Info{DType: tensor.Int8, Shape: tensor.Shape{3}, Size: 3}
	var files Files
	expect.Equal(t, int64(0), files.View(nil, []byte("a.bin"), &info).Info().Size)
	src := &source{dir: &directory{}}
	_, _, err := files.Find(src, []byte("a.bin"), false)
	expect.OK(t, err)
	expect.Equal(t, int64(3), files.View(src, []byte("a.bin"), &info).Info().Size)
}

func TestNew(t *testing.T) {
	const zeros = "0000000000000000"
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name, location, model string
		want                  string // "" for an error
		err                   error
	}{
		{"named after the model", "", "dir/m.onnx", "m.onnx." + zeros + ".data", nil},
		{"at a location", "data/w.bin", "dir/m.onnx", "data/w.bin.onnx." + zeros + ".data", nil},
		{"at one that is not clean", "data//w.bin", "m.onnx", "data/w.bin.onnx." + zeros + ".data", nil},
		{"a stream", "w.bin", "", "", tensor.ErrUnsupported},
		{"up", "../w.bin", "m.onnx", "", tensor.ErrCorrupt},
		{"not UTF-8", "w\xff", "m.onnx", "", tensor.ErrCorrupt},
		{"a directory", "w/", "m.onnx", "", tensor.ErrCorrupt},
		{"the model itself", "m", "m.onnx." + zeros + ".data", "", tensor.ErrCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, err := New("onnx", tt.location, tt.model, nil)
			if tt.err != nil {
				expect.Refused(t, tt.err)(x, err)
				return
			}
			expect.OK(t, err)
			expect.Equal(t, tt.want, x.Location)
		})
	}
	x, err := New("onnx", long, "m.onnx", nil)
	expect.OK(t, err)
	if len(x.Location) > 200 {
		t.Errorf("a name of %d bytes", len(x.Location))
	}
}

// TestReserve: ranges follow each other at multiples of the alignment.
func TestReserve(t *testing.T) {
	x := &driver.External{}
	expect.Equal(t, int64(0), Reserve(x, 5, 64))
	expect.Equal(t, int64(64), Reserve(x, 64, 64))
	expect.Equal(t, int64(128), Reserve(x, 1, 64))
	expect.Equal(t, int64(129), x.Size)
}

// opened is a model with files.
type opened struct {
	files  []string
	closed error
}

func (m opened) Files() []string { return m.files }
func (m opened) Close() error    { return m.closed }

func TestFilesOf(t *testing.T) {
	files, err := FilesOf(opened{files: []string{"m", "w"}}, nil)
	expect.OK(t, err)
	expect.Equal(t, []string{"m", "w"}, files)
	_, err = FilesOf(opened{closed: errMissing}, nil)
	expect.Equal(t, true, errors.Is(err, errMissing))
	_, err = FilesOf(nil, errMissing)
	expect.Equal(t, true, errors.Is(err, errMissing))
}
