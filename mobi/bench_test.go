package mobi

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// benchModel is a plan of constants with random data.
type benchModel struct {
	name string
	n    int
	size int
}

// benchModels are those of the other packages: 20 tensors in 2 MB, 300 in 100 MB,
// 10,000 of 256 bytes.
var benchModels = []benchModel{{"small", 20, 100 << 10}, {"large", 300, 350_000}, {"many", 10_000, 256}}

// write returns the path of the model's file.
func (m benchModel) write(b *testing.B) string {
	b.Helper()
	r := rand.New(rand.NewPCG(uint64(m.n), uint64(m.size)))
	data := make([]byte, m.size)
	for i := 0; i+8 <= len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], r.Uint64())
	}
	p := &format.Plan{}
	for i := range m.n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: constantName(uint32(i)), DType: tensor.Float32, Shape: tensor.Shape{int64(m.size / 4)}})
	}
	path := filepath.Join(b.TempDir(), m.name+extension)
	w, err := Create(path, p, &WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort()
	for _, t := range p.Tensors {
		if err := w.WriteTensor(t.Name, bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkOpen(b *testing.B) {
	for _, m := range benchModels {
		path := m.write(b)
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := openOnly(path); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(m.name+"/floor", func(b *testing.B) {
			for b.Loop() {
				if _, err := bareMap(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad opens, checks the footer, and reads every constant.
func BenchmarkLoad(b *testing.B) {
	for _, m := range benchModels {
		path := m.write(b)
		b.Run(m.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := loadAll(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, m := range benchModels {
		f, err := Open(m.write(b), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		b.Run(m.name, func(b *testing.B) {
			b.SetBytes(int64(f.Header().FileSize))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Verify(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	m := benchModels[2]
	f, err := Open(m.write(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	id := uint32(0)
	for b.Loop() {
		if _, err := f.Constant(id); err != nil {
			b.Fatal(err)
		}
		id = (id + 7919) % uint32(m.n)
	}
}
