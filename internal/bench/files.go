package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/internal/floor"
)

// temp holds the files of all benchmarks; Main removes it.
var temp string

// Main runs the tests and benchmarks of a package and returns its exit status.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weightmap-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	temp = dir
	return m.Run()
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
	if err != nil {
		return nil, err
	}
	return p, feed(w, p, data)
}

// feed writes all tensors of p and closes w.
func feed(w *format.Writer, p *format.Plan, data []byte) error {
	defer w.Abort()
	var r bytes.Reader
	for _, t := range p.Tensors {
		r.Reset(data[:t.Size])
		if err := w.WriteTensor(t.Name, &r); err != nil {
			return err
		}
		data = data[t.Size:]
	}
	return w.Close()
}

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
		if f.Plan, f.err = Write(name, f.Path, m, &format.WriteOptions{NoSync: true}); f.err == nil {
			f.Paths, f.err = floor.Files(f.Path)
		}
		return f
	}))
	f := make.(func() Written)()
	if errors.Is(f.err, format.ErrPlan) || errors.Is(f.err, format.ErrUnsupported) {
		b.Skip(f.err)
	}
	if f.err != nil {
		b.Fatal(f.err)
	}
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

// Plain writes the bytes of a model to one file and returns its path.
func Plain(b *testing.B, m Model) string {
	b.Helper()
	path := filepath.Join(temp, "plain-"+m.Name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	_, data := m.Plan()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}
