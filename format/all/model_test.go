package all_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// list describes a tensor.
func list(d tensor.DType, name string, shape ...int64) tensor.Info {
	return tensor.Info{Name: name, DType: d, Shape: shape}
}

// fill returns the data of tensor i: no two are alike, and bools are 0 or 1.
func fill(i int, t tensor.Info) []byte {
	n, err := t.ByteSize()
	if err != nil {
		panic(err)
	}
	b := make([]byte, n)
	for k := range b {
		if b[k] = byte(3*k + 17*i + 1); t.DType == tensor.Bool {
			b[k] &= 1
		}
	}
	return b
}

// feed writes the tensors of a schema with the bytes of fill, and closes.
func feed(p *schema.Schema, w *format.Writer, err error) error {
	if err != nil {
		return err
	}
	defer w.Abort()
	for i, info := range p.Tensors {
		if err := w.WriteTensor(info.Name, bytes.NewReader(fill(i, info))); err != nil {
			return err
		}
	}
	return w.Close()
}

// formatNamed returns a format, or nil for the name "".
func formatNamed(name string) format.Format {
	if name == "" {
		return nil
	}
	return expect.Must(format.ByName(name))
}

// create writes the file of a schema.
func create(name, path string, p *schema.Schema, o *format.WriteOptions) error {
	if o == nil || o.Format == nil {
		o = o.With(formatNamed(name))
	}
	w, err := format.Create(path, p, o)
	return feed(p, w, err)
}

// open opens a model until the test ends.
func open(t *testing.T, path string, o *format.Options) *format.Model {
	t.Helper()
	m, err := format.Open(path, o)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// source writes a schema in its format and opens it.
func source(t *testing.T, name string, p *schema.Schema) *format.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source."+name)
	if name == "tsr" {
		path += string(filepath.Separator)
	}
	expect.OK(t, create(name, path, p, nil))
	return open(t, path, nil)
}
