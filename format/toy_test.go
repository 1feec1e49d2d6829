package format

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// asFormat is the format of a driver.
type asFormat struct{ driver driver.Driver }

// Driver implements Format.
func (f asFormat) Driver() driver.Driver { return f.driver }

// toy is a driver that does what a test says.
type toy struct {
	onTouch bool // CheckOnTouch
	tensors []driver.Tensor
	parsed  driver.Parsed
	before  func(src driver.Source) error // of adding the tensors
	dir     func(dir driver.Dir) error
}

func (d *toy) Describe() driver.Description {
	return driver.Description{Name: "toy", Extensions: []string{".toy"}, CheckOnTouch: d.onTouch}
}

func (d *toy) Detect([]byte, int64) bool { return true }

func (d *toy) Parse(src driver.Source, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	x.Version = "7"
	if d.before != nil {
		if err := d.before(src); err != nil {
			return nil, err
		}
	}
	if d.dir != nil {
		dir, _ := src.Dir() // one that is missing takes declarations
		if err := d.dir(dir); err != nil {
			return nil, err
		}
	}
	d.add(x)
	return d.result(), nil
}

func (d *toy) ParseDir(dir driver.Dir, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	if err := d.dir(dir); err != nil {
		return nil, err
	}
	d.add(x)
	return d.result(), nil
}

func (d *toy) add(x *driver.Index) {
	for i := range d.tensors {
		x.Add(&d.tensors[i])
	}
}

func (d *toy) result() *driver.Parsed { p := d.parsed; return &p }

// checked declares a part that a function compares.
func checked(f func(driver.Verification) error) driver.Sum {
	return driver.Sum{Name: "part", By: "a function", Hidden: true, Check: f}
}

// digestOf returns a digest of b.
func digestOf(k driver.Kind, b []byte) driver.Digest {
	return driver.Digest{Kind: k, Want: checksum.Of(k, b)}
}

// u8 describes a tensor of bytes.
func u8(name string, off, size int64) driver.Tensor {
	return driver.Tensor{Name: []byte(name), DType: tensor.Uint8, Shape: tensor.Shape{size}, Offset: off, Size: size}
}

// in puts a tensor into a space.
func in(s driver.Space, t driver.Tensor) driver.Tensor { t.Space = s; return t }

// loaded makes a tensor one that comes from Loader.
func loaded(t driver.Tensor) driver.Tensor { t.Loaded, t.Offset = true, -1; return t }

// ramp returns n aligned bytes 0, 1, 2...
func ramp(n int) []byte {
	b := memory.Aligned(n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// config is the usual one, changed by a test.
func toyConfig(d driver.Driver, change ...func(*config)) *config {
	c := &config{driver: d, options: Options{Context: context.Background()}}
	for _, f := range change {
		f(c)
	}
	c.parse = driver.ParseOptions{Context: c.options.Context, CheckSums: c.options.Check != CheckStructure, Memory: c.parse.Memory}
	return c
}

// inDirectory makes the model a directory.
func asDirectory(dir string) func(*config) {
	return func(c *config) { c.path, c.name, c.door = dir, dir, inDirectory(dir, "") }
}

func check(k Check) func(*config) { return func(c *config) { c.options.Check = k } }

// open opens a region with a toy, or fails the test.
func open(t testing.TB, r *source.Region, d *toy, change ...func(*config)) *Model {
	t.Helper()
	m := &Model{}
	expect.OK(t, m.openRegion(r, toyConfig(d, change...)))
	t.Cleanup(func() { m.Close() })
	return m
}

// regions has bytes as memory and behind a reader.
func regions(b []byte) map[string]*source.Region {
	return map[string]*source.Region{"memory": source.FromBytes(b), "reader": source.FromReaderAt(bytes.NewReader(b), int64(len(b)))}
}

// stored writes a file into a new directory.
func storedFile(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, b)
	return path
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	expect.OK(t, os.WriteFile(path, b, 0o644))
}

// openToy maps a file and opens it with a toy.
func openToy(t testing.TB, path string, d *toy, change ...func(*config)) *Model {
	t.Helper()
	r := new(source.Region)
	err := r.Open(path, source.Options{})
	expect.OK(t, err)
	return open(t, r, d, append([]func(*config){func(c *config) { c.path = path }}, change...)...)
}

// requests counts what is asked of a reader, and fails while broken is set.
type requests struct {
	io.ReaderAt
	n, bytes atomic.Int64
	broken   atomic.Bool
}

func (r *requests) ReadAt(p []byte, off int64) (int, error) {
	r.n.Add(1)
	r.bytes.Add(int64(len(p)))
	if r.broken.Load() {
		return 0, errMine
	}
	return r.ReaderAt.ReadAt(p, off)
}

// accessors are all ways to the bytes of a view.
var accessors = map[string]func(v tensor.View) error{
	"Bytes":               func(v tensor.View) error { _, err := v.Bytes(); return err },
	"Use":                 func(v tensor.View) error { return v.Use(func([]byte) error { return nil }) },
	"ReadInto":            func(v tensor.View) error { _, err := v.ReadInto(make([]byte, v.Info().Size)); return err },
	"ReadInto, too short": func(v tensor.View) error { _, err := v.ReadInto(nil); return err },
	"ReadAt":              func(v tensor.View) error { _, err := v.ReadAt(make([]byte, 1), 0); return err },
	"ReadAt of nothing":   func(v tensor.View) error { _, err := v.ReadAt(nil, 0); return err },
	"ReadAt of the end":   func(v tensor.View) error { _, err := v.ReadAt(make([]byte, 1), v.Info().Size); return err },
	"ReadAt negative":     func(v tensor.View) error { _, err := v.ReadAt(make([]byte, 1), -1); return err },
	"Clone":               func(v tensor.View) error { _, err := v.Clone(); return err },
	"Digest":              func(v tensor.View) error { _, err := v.Digest(); return err },
	"Slice":               func(v tensor.View) error { return sliced(v) },
	"Slice, wrong":        func(v tensor.View) error { _, err := v.Slice(tensor.At(1<<40), tensor.At(0), tensor.At(0)); return err },
	"As":                  func(v tensor.View) error { _, err := tensor.As[uint8](v); return err },
	"As, wrong":           func(v tensor.View) error { _, err := tensor.As[float64](v); return err },
	"Decode":              func(v tensor.View) error { _, err := tensor.Decode[float32](nil, v); return err },
	"DecodeAt":            func(v tensor.View) error { return tensor.DecodeAt(make([]float32, 1), v, 0) },
	"DecodeAt, wrong":     func(v tensor.View) error { return tensor.DecodeAt(make([]int64, 1), v, -1) },
	"Decode, wrong":       func(v tensor.View) error { _, err := tensor.Decode[int64](nil, v); return err },
}

// answers calls all accessors, whose errors must be as isRight says.
func answers(t *testing.T, what string, v tensor.View, isRight func(error) bool) {
	t.Helper()
	for name, call := range accessors {
		if err := call(v); !isRight(err) {
			t.Errorf("%s: %s: %v", what, name, err)
		}
	}
}

// sliced uses a slice, which may be made of a view that is closed.
func sliced(v tensor.View) error {
	s, err := v.Slice()
	if err == nil {
		_, err = s.Bytes()
	}
	return err
}

// bytesOf returns the bytes of a tensor, or fails the test.
func bytesOf(t *testing.T, m *Model, name string) string {
	t.Helper()
	v, err := m.Tensor(name)
	expect.OK(t, err)
	b, err := v.Bytes()
	expect.OK(t, err)
	return fmt.Sprint(b)
}
