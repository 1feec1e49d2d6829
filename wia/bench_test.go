package wia

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// manyTensors writes a model of n float32 tensors of elems elements each, all declared
// and used by the graph.
func manyTensors(t testing.TB, n int, elems int64) []byte {
	t.Helper()
	p := &format.Plan{Graph: &format.Graph{}}
	for i := range n {
		name := fmt.Sprintf("model.layers.%d.weight", i)
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{elems}})
		p.Graph.Nodes = append(p.Graph.Nodes, format.Node{Op: "Add", Inputs: []string{fmt.Sprintf("x%d", i), name}, Outputs: []string{fmt.Sprintf("x%d", i+1)}})
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, p, &WriteOptions{WriteOptions: format.WriteOptions{Spool: format.SpoolMemory}})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 4*elems)
	for _, info := range p.Tensors {
		if err := w.WriteTensor(info.Name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		n     int
		elems int64
	}{{10, 1000}, {300, 87000}, {10000, 16}} {
		b.Run(fmt.Sprintf("%d", c.n), func(b *testing.B) {
			file := manyTensors(b, c.n, c.elems)
			b.ReportAllocs()
			for b.Loop() {
				f, err := OpenBytes(file, nil)
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
