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

var small, large, many = modelOf("small", testmodel.Small), modelOf("large", testmodel.Large), modelOf("many", testmodel.Many)

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

// single returns the model m as one tensor.
func single(m Model) Model {
	return Model{"single-" + m.Name, func() (*format.Plan, []byte) {
		_, data := m.Plan()
		return &format.Plan{Tensors: equal("tensor", 1, tensor.Float32, int64(len(data)/4))}, data
	}}
}

// uniform returns a model of equal tensors, which is computed each time.
func uniform(name string, n int, d tensor.DType, shape ...int64) Model {
	return Model{name, func() (*format.Plan, []byte) {
		p := &format.Plan{Tensors: equal(name, n, d, shape...)}
		size, numbers := int(p.Tensors[0].Size), testmodel.Large()[2].Bytes()
		return p, bytes.Repeat(numbers, size/len(numbers)+1)[:size]
	}}
}

// equal describes n equal tensors, called 0, 1, ..., or name if there is only one.
func equal(name string, n int, d tensor.DType, shape ...int64) (all []tensor.Info) {
	size := d.Size()
	for _, dim := range shape {
		size *= dim
	}
	for i := range n {
		all = append(all, tensor.Info{Name: strconv.Itoa(i), DType: d, Shape: shape, Size: size})
	}
	if n == 1 {
		all[0].Name = name
	}
	return all
}

// numbered returns the plan with numbers as names, for formats without names.
func numbered(p *format.Plan) *format.Plan {
	n := &format.Plan{}
	for i, t := range p.Tensors {
		t.Name = strconv.Itoa(i)
		n.Tensors = append(n.Tensors, t)
	}
	return n
}

// Write writes a model and returns the plan it wrote. In formats without names, the plan has numbers
// as names.
func Write(name, path string, m Model, o *format.WriteOptions) (*format.Plan, error) {
	p, data := m.Plan()
	w, err := format.Create(name, path, p, o)
	if errors.Is(err, format.ErrPlan) {
		p = numbered(p)
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

// Written is a model file. Each is written once per process.
type Written struct {
	Path  string
	Paths []string // all its files
	Plan  *format.Plan
	err   error
}

var files sync.Map // format/model -> func() Written

// File returns the file of the model in the format. It skips the benchmark if the format cannot
// represent the model.
func File(b *testing.B, name string, m Model) Written {
	b.Helper()
	make, _ := files.LoadOrStore(name+"/"+m.Name, sync.OnceValue(func() (f Written) {
		f.Path = filepath.Join(temp, name+"-"+m.Name)
		if f.Plan, f.err = Write(name, f.Path, m, noSync); f.err == nil {
			f.Paths, f.err = floor.Files(f.Path)
		}
		return f
	}))
	f := make.(func() Written)()
	if errors.Is(f.err, format.ErrPlan) || errors.Is(f.err, format.ErrUnsupported) {
		b.Skip(f.err)
	}
	must(b, f.err)
	return f
}

// Each runs f for every format and model.
func Each(b *testing.B, f func(b *testing.B, name string, m Model)) {
	for _, name := range format.Writable() {
		for _, m := range Models {
			b.Run(name+"/"+m.Name, func(b *testing.B) { f(b, name, m) })
		}
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
