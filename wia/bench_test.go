package wia

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
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

// BenchmarkGraph opens a model and has its graph built, in terms of the protobuf
// runtime, which unmarshals the message by its description.
func BenchmarkGraph(b *testing.B) {
	file := manyTensors(b, 10000, 1)
	d, win := schema(b), mustOpen(b, file, nil).f.graph.Win
	floor.Pairs(b, floor.Rounds, func() error {
		f, err := OpenBytes(file, nil)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Graph()
		return err
	}, func() error {
		decode(b, d, "Graph", win)
		return nil
	})
}
