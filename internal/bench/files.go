package bench

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// Write writes a model and returns the schema it wrote. In formats without names, the schema has
// numbers as names.
func Write(name, path string, m Model, o *format.WriteOptions) (*schema.Schema, error) {
	p, data := m.Schema()
	f, err := format.ByName(name)
	if err != nil {
		return nil, err
	}
	o = o.With(f)
	w, err := format.Create(path, p, o)
	if errors.Is(err, format.ErrSchema) {
		p = &schema.Schema{Tensors: append([]tensor.Info(nil), p.Tensors...)}
		for i := range p.Tensors {
			p.Tensors[i].Name = strconv.Itoa(i)
		}
		w, err = format.Create(path, p, o)
	}
	return p, feed(w, err, p, data)
}

// feed writes all tensors of p and closes w, unless creating it failed with err.
func feed(w *format.Writer, err error, p *schema.Schema, data []byte) error {
	if err != nil {
		return err
	}
	defer w.Abort()
	rest := data
	for _, t := range p.Tensors {
		if int64(len(rest)) < t.Size {
			rest = data
		}
		if err := w.WriteTensor(t.Name, bytes.NewReader(rest[:t.Size])); err != nil {
			return err
		}
		rest = rest[t.Size:]
	}
	return w.Close()
}

var noSync = &format.WriteOptions{NoSync: true}

// file is a file, or a directory of several, with a model.
type file struct {
	path   string
	paths  []string // all its files
	schema *schema.Schema
}

// file returns the file of the model in the format, which is written once.
func (t *table) file(b *testing.B, name string, m Model) file {
	b.Helper()
	path := filepath.Join(t.dir, name+"-"+m.Name)
	f, ok := t.files[path]
	if !ok {
		p, err := Write(name, path, m, noSync)
		expect.OK(b, err)
		paths, err := floor.Files(path)
		expect.OK(b, err)
		f = file{path, paths, p}
		t.files[path] = f
	}
	return f
}
