package wia

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestGraphMessageAgain: a graph that there was no memory for is decoded once there is.
func TestGraphMessageAgain(t *testing.T) {
	p := &format.Plan{
		Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{1000}}},
		Graph: &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []format.Dim{{Size: 1000}}}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: []format.Dim{{Size: 1000}}}},
			Nodes:   []format.Node{{Op: "Add", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		},
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, p, nil)
	if err == nil {
		err = errors.Join(w.WriteTensor("w", bytes.NewReader(make([]byte, 4000))), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for most := int64(1 << 10); most < 16<<10; most += 100 {
		f, err := OpenReaderAt(bytes.NewReader(b.Bytes()), int64(b.Len()), &format.Options{MaxMemory: most, CacheBytes: 1 << 20})
		if errors.Is(err, format.ErrLimit) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.At(0).Bytes(); err != nil || f.Stats().Kept == 0 {
			continue // it does not fit
		}
		if _, err := f.GraphMessage(); !errors.Is(err, format.ErrLimit) {
			continue
		}
		refused++
		if err := f.m.Evict(); err != nil {
			t.Fatal(err)
		}
		if g, err := f.GraphMessage(); err != nil || len(g.Nodes) != 1 {
			t.Errorf("%d bytes, with nothing in the cache: %v", most, err)
		}
	}
	if refused == 0 {
		t.Error("the graph always fit")
	}
}
