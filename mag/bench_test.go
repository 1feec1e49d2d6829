package mag

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
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

// BenchmarkWrite writes with and without digests, and the older layout. The floor
// is a temporary file, one write and the rename.
func BenchmarkWrite(b *testing.B) {
	for _, m := range models() {
		for _, c := range []struct {
			name string
			o    WriteOptions
		}{{"digests", WriteOptions{}}, {"plain", WriteOptions{NoDigests: true}}, {"snapshot", WriteOptions{Snapshot: true}}} {
			b.Run(m.name+"/"+c.name, func(b *testing.B) {
				path := filepath.Join(b.TempDir(), m.name+".mag")
				m.write(b, path, &c.o)
				file, err := os.ReadFile(path)
				if err != nil {
					b.Fatal(err)
				}
				floor.PairsOf(b, floor.Rounds, floor.Then(func() error { m.write(b, path, &c.o); return nil }, func() error { return os.Remove(path) }),
					floor.Then(func() error { return writePlainly(path, file) }, func() error { return os.Remove(path) }))
			})
		}
	}
}

// writePlainly is the least that a writer does.
func writePlainly(path string, file []byte) error {
	if err := os.WriteFile(path+".tmp", file, 0o666); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
