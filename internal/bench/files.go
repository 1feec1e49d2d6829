package bench

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/tensor"
)

// Model is a model to write in each format.
type Model struct {
	Name string
	// Plan returns the tensors and their data, one after the other. Tensors beyond the end of the data
	// have its first bytes. It is computed once.
	Plan func() (p *format.Plan, data []byte)
}

var (
	small = modelOf("small", testmodel.Small)
	large = modelOf("large", testmodel.Large)
	many  = modelOf("many", testmodel.Many)

	// As many numbers in one tensor.
	smallSingle = uniform("small-single", 1, tensor.Float32, 498_598)
	largeSingle = uniform("large-single", 1, tensor.Float32, 24_976_800)
)

// Models are 20 tensors in 2 MB, 300 in 100 MB, and 10,000 of 256 bytes.
var Models = []Model{small, large, many}

func modelOf(name string, list func() []testmodel.Tensor) Model {
	return Model{name, sync.OnceValues(func() (*format.Plan, []byte) {
		p := &format.Plan{}
		var all []byte
		for _, t := range list() {
			p.Tensors = append(p.Tensors, t.Info())
			all = append(all, t.Bytes()...)
		}
		return p, all
	})}
}

// uniform returns a model of equal tensors, called 0, 1, ...
func uniform(name string, n int, d tensor.DType, shape ...int64) Model {
	return Model{name, sync.OnceValues(func() (*format.Plan, []byte) {
		info := tensor.Info{DType: d, Shape: shape}
		info.Size, _ = info.ByteSize()
		p := &format.Plan{Tensors: make([]tensor.Info, n)}
		for i := range p.Tensors {
			p.Tensors[i] = info
			p.Tensors[i].Name = strconv.Itoa(i)
		}
		numbers := testmodel.Large()[2].Bytes()
		return p, bytes.Repeat(numbers, int(info.Size)/len(numbers)+1)[:info.Size]
	})}
}

// Write writes a model and returns the plan it wrote. In formats without names, the plan has numbers
// as names.
func Write(name, path string, m Model, o *format.WriteOptions) (*format.Plan, error) {
	p, data := m.Plan()
	w, err := format.Create(name, path, p, o)
	if errors.Is(err, format.ErrPlan) {
		p = &format.Plan{Tensors: append([]tensor.Info(nil), p.Tensors...)}
		for i := range p.Tensors {
			p.Tensors[i].Name = strconv.Itoa(i)
		}
		w, err = format.Create(name, path, p, o)
	}
	return p, feed(w, err, p, data)
}

// feed writes all tensors of p and closes w, unless creating it failed with err.
func feed(w *format.Writer, err error, p *format.Plan, data []byte) error {
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
	path  string
	paths []string // all its files
	plan  *format.Plan
}

// file returns the file of the model in the format, which is written once.
func (t *table) file(b *testing.B, name string, m Model) file {
	b.Helper()
	path := filepath.Join(t.dir, name+"-"+m.Name)
	f, ok := t.files[path]
	if !ok {
		p, err := Write(name, path, m, noSync)
		must(b, err)
		paths, err := floor.Files(path)
		must(b, err)
		f = file{path, paths, p}
		t.files[path] = f
	}
	return f
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
