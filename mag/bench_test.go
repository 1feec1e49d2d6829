package mag

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// model is a plan for benchmarks with random data.
type model struct {
	name string
	plan *format.Plan
	data [][]byte
}

// models are those of the package targets: 20 tensors in 2 MB, 300 in 100 MB,
// 10,000 of 256 bytes.
func models() []model {
	return []model{newModel("small", 20, 100<<10), newModel("large", 300, 350_000), newModel("many", 10_000, 256)}
}

func newModel(name string, n, size int) model {
	m := model{name: name, plan: &format.Plan{}}
	r := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	all := make([]byte, n*size)
	for i := 0; i+8 <= len(all); i += 8 {
		binary.LittleEndian.PutUint64(all[i:], r.Uint64())
	}
	for i := range n {
		info := tensor.Info{Name: fmt.Sprintf("layers.%d.weight", i), DType: tensor.Float32, Shape: tensor.Shape{int64(size / 4)}}
		m.plan.Tensors = append(m.plan.Tensors, info)
		m.data = append(m.data, all[i*size:(i+1)*size])
	}
	return m
}

func (m *model) write(b testing.TB, path string, o *WriteOptions) {
	b.Helper()
	o.NoSync = true
	w, err := Create(path, m.plan, o)
	if err != nil {
		b.Fatal(err)
	}
	for i, t := range m.plan.Tensors {
		if err := w.WriteTensor(t.Name, bytes.NewReader(m.data[i])); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, m := range models() {
		path := filepath.Join(b.TempDir(), m.name+".mag")
		m.write(b, path, &WriteOptions{})
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := Open(path, nil)
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
		b.Run(m.name+"/floor", func(b *testing.B) {
			for b.Loop() {
				r, err := source.Open(path, source.Options{})
				if err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	m := newModel("many", 10_000, 256)
	path := filepath.Join(b.TempDir(), "many.mag")
	m.write(b, path, &WriteOptions{})
	f, err := Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := f.Tensor(m.plan.Tensors[i].Name); err != nil {
			b.Fatal("missing")
		}
		if i += 7919; i >= len(m.plan.Tensors) {
			i -= len(m.plan.Tensors)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, m := range models() {
		path := filepath.Join(b.TempDir(), m.name+".mag")
		m.write(b, path, &WriteOptions{})
		f, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		b.Run(m.name, func(b *testing.B) {
			b.SetBytes(f.Stats().FileSize)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Verify(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(m.name+"/floor", func(b *testing.B) {
			b.SetBytes(f.Stats().FileSize)
			file, err := source.Open(path, source.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			sum := uint64(0)
			for b.Loop() {
				for mem := file.Bytes(); len(mem) >= 32; mem = mem[32:] {
					sum += binary.LittleEndian.Uint64(mem) + binary.LittleEndian.Uint64(mem[8:]) +
						binary.LittleEndian.Uint64(mem[16:]) + binary.LittleEndian.Uint64(mem[24:])
				}
			}
			runtime.KeepAlive(sum)
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, m := range models() {
		path := filepath.Join(b.TempDir(), m.name+".mag")
		m.write(b, path, &WriteOptions{})
		file, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			name string
			o    WriteOptions
		}{{"", WriteOptions{}}, {"/plain", WriteOptions{NoDigests: true, NoSharing: true}}, {"/snapshot", WriteOptions{Snapshot: true}}} {
			b.Run(m.name+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(file)))
				b.ReportAllocs()
				for b.Loop() {
					m.write(b, path, &c.o)
				}
			})
		}
		b.Run(m.name+"/floor", func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				writePlainly(b, path, file)
			}
		})
	}
}

// writePlainly is the least that a writer does: a temporary file, one write,
// and the rename.
func writePlainly(b *testing.B, path string, file []byte) {
	f, err := os.Create(path + ".tmp")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Writer(f).Write(file); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		b.Fatal(err)
	}
}
