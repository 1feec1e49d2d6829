package shards

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

const anIndex = `{"weight_map":{"a":"one.bin","b":"two.bin"}}`

// TestPartOf: an index that names a file beside others says which part it is; else its name does.
func TestPartOf(t *testing.T) {
	dir := fstest.MapFS{
		"x.bin.index.json":         {Data: []byte(anIndex)},
		"one.bin":                  {},
		"two.bin":                  {},
		"alone.bin":                {},
		"m-00001-of-00002.gguf":    {},
		"m-00002-of-00002.gguf":    {},
		"half-00001-of-00002.gguf": {},
		"two.txt":                  {},
	}
	for name, want := range map[string]Part{
		"one.bin":                  {No: 1, Count: 2, Index: "x.bin.index.json", Opens: "x.bin.index.json"},
		"two.bin":                  {No: 2, Count: 2, Index: "x.bin.index.json", Opens: "x.bin.index.json"},
		"alone.bin":                {},
		"two.txt":                  {},
		"m-00002-of-00002.gguf":    {No: 2, Count: 2, Opens: "m-00001-of-00002.gguf"},
		"half-00001-of-00002.gguf": {No: 1, Count: 2, Missing: "half-00002-of-00002.gguf"},
	} {
		expect.Equal(t, want, PartOf(dir, name, nil))
	}
}

// odd is a directory whose index has an unusual mode or size.
type odd struct {
	fstest.MapFS
	mode fs.FileMode
	size int64
}

func (d odd) Open(name string) (fs.File, error) {
	f, err := d.MapFS.Open(name)
	if err != nil || !strings.HasSuffix(name, IndexEnding) {
		return f, err
	}
	return &oddFile{odd: d, text: strings.NewReader(anIndex)}, nil
}

func (d odd) Stat(name string) (fs.FileInfo, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

type oddFile struct {
	odd
	text *strings.Reader
}

func (f *oddFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *oddFile) Name() string               { return "x.bin.index.json" }
func (f *oddFile) Size() int64                { return f.size }
func (f *oddFile) Mode() fs.FileMode          { return f.mode }
func (f *oddFile) ModTime() time.Time         { return time.Time{} }
func (f *oddFile) IsDir() bool                { return false }
func (f *oddFile) Sys() any                   { return nil }
func (f *oddFile) Close() error               { return nil }

// Read returns the index, and blanks behind it.
func (f *oddFile) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if errors.Is(err, io.EOF) {
		return copy(p, strings.Repeat(" ", len(p))), nil
	}
	return n, err
}

// TestOddIndexes: a pipe and a file that is too large are no index.
func TestOddIndexes(t *testing.T) {
	files := fstest.MapFS{"x.bin.index.json": {}, "one.bin": {}, "two.bin": {}}
	for _, tt := range []struct {
		name string
		mode fs.FileMode
		size int64
		want int // parts
	}{
		{"a file", 0, 200, 2},
		{"a pipe", fs.ModeNamedPipe, 200, 0},
		{"too large", 0, maxIndex + 1, 0},
	} {
		p := PartOf(odd{files, tt.mode, tt.size}, "one.bin", nil)
		if p.Count != tt.want {
			t.Errorf("%s: %+v, want %d parts", tt.name, p, tt.want)
		}
	}
}

// parts is a directory with files of one tensor each, called like the first letter of the file.
type parts struct{ driver.Dir }

func (parts) Expect([]string) {}

func (parts) Open(name string) (driver.Source, driver.Space, error) {
	return part{name: name}, 1, nil
}

type part struct {
	driver.Source
	name string
}

func (p part) Path() string { return p.name }

// TestTensorInTwoParts: without an index no tensor may be in two files.
func TestTensorInTwoParts(t *testing.T) {
	m := Model{Format: "torch", Open: func(src driver.Source, space driver.Space, x *driver.Index,
		_ *driver.ParseOptions) (schema.Metadata, error) {
		x.Grow(1, 1, 1)
		return nil, x.Add(&driver.Tensor{Name: []byte(src.Path()[:1]), DType: tensor.Int8, Space: space, Size: 1})
	}}
	o := &driver.ParseOptions{Context: t.Context()}
	var x driver.Index
	_, err := m.ParseNames(parts{}, []string{"a1", "b1"}, &x, o)
	expect.OK(t, err)
	expect.Equal(t, 2, x.Len())
	x = driver.Index{}
	_, err = m.ParseNames(parts{}, []string{"a1", "a2"}, &x, o)
	if !errors.Is(err, tensor.ErrCorrupt) || !strings.Contains(err.Error(), `shard "a2"`) {
		t.Error(err)
	}
}

// large is an index that is too large to be read.
type large struct{ driver.Source }

func (large) Size() int64                        { return maxIndex + 1 }
func (large) Slice(off, n int64) ([]byte, error) { return nil, io.ErrUnexpectedEOF }

// TestLargeIndex: an index is not read if it is larger than the limit.
func TestLargeIndex(t *testing.T) {
	m := Model{Format: "torch"}
	var x driver.Index
	_, _, err := m.Parse(large{}, &x, &driver.ParseOptions{Context: t.Context()})
	expect.Refused(t, tensor.ErrLimit)(nil, err)
}
