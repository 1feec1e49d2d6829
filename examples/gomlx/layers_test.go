package gomlx

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

const elems = 1 << 18

// network returns a WIA file. The weight that the network uses last comes first.
func network(t *testing.T) []byte {
	weight := func(name string, value float32) tensor.View {
		data := make([]float32, elems)
		data[elems-1] = value
		v, err := tensor.Of(name, tensor.Shape{elems}, data)
		expect.OK(t, err)
		return v
	}
	node := func(name, op string, out string, in ...string) schema.Node {
		return schema.Node{Name: name, Op: op, Inputs: in, Outputs: []string{out}}
	}
	s := &schema.Schema{Graph: &schema.Graph{
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(elems)}},
		Outputs: []schema.ValueInfo{{Name: "y"}},
		Nodes: []schema.Node{
			node("scale", "Mul", "a", "x", "first"),
			node("relu", "Relu", "b", "a"),
			node("shift", "Add", "y", "b", "last"),
		},
	}}
	var file bytes.Buffer
	views := []tensor.View{weight("last", 2), weight("first", 1)}
	expect.OK(t, format.Write(t.Context(), &file, s, views, &format.WriteOptions{Format: wia.Format{}}))
	return file.Bytes()
}

// slow is a reader that, from an offset to an end, waits for go-ahead.
type slow struct {
	*bytes.Reader
	off, end int64
	goAhead  chan struct{}
}

func (r *slow) ReadAt(p []byte, off int64) (int, error) {
	if off < r.end && off+int64(len(p)) > r.off {
		<-r.goAhead
	}
	return r.Reader.ReadAt(p, off)
}

// TestLayers: the first layer is ready while bytes of the last one cannot be read yet.
func TestLayers(t *testing.T) {
	data := network(t)
	r := &slow{Reader: bytes.NewReader(data), goAhead: make(chan struct{})}
	m, err := format.OpenReaderAt(r, int64(len(data)), nil)
	expect.OK(t, err)
	defer m.Close()
	v, err := m.Tensor("last")
	expect.OK(t, err)
	info := v.Info()
	r.off = info.Offset
	r.end = info.Offset + info.Size
	var order []string
	values := map[string]float32{}
	expect.OK(t, Layers(t.Context(), m, func(l Layer) error {
		order = append(order, l.Name)
		for name, w := range l.Weights {
			w.MustConstFlatData(func(flat any) { values[name] = flat.([]float32)[elems-1] })
			expect.OK(t, w.MaterializeOnDevice(engine, false, 0))
		}
		if l.Name == "scale" {
			close(r.goAhead) // otherwise the last layer waits forever
		}
		return nil
	}))
	expect.Equal(t, []string{"scale", "shift"}, order)
	if d := cmp.Diff(map[string]float32{"first": 1, "last": 2}, values); d != "" {
		t.Error(d)
	}
}

// TestLayersOfNames: without a graph, layers are neighbors whose names have the same number.
func TestLayersOfNames(t *testing.T) {
	var views []tensor.View
	for _, name := range []string{"embed.weight", "layers.0.bias", "layers.0.weight", "layers.1.weight", "out"} {
		v, err := tensor.Of(name, tensor.Shape{2}, []float32{1, 2})
		expect.OK(t, err)
		views = append(views, v)
	}
	var file bytes.Buffer
	expect.OK(t, format.Write(t.Context(), &file, nil, views, &format.WriteOptions{Format: safetensors.Format{}}))
	m, err := format.OpenBytes(file.Bytes(), nil)
	expect.OK(t, err)
	defer m.Close()
	var got []string
	expect.OK(t, Layers(t.Context(), m, func(l Layer) error {
		got = append(got, l.Name)
		return nil
	}))
	expect.Equal(t, []string{"embed.weight", "layers.0", "layers.1", "out"}, got)
}

// TestLayersEnd: an error of ready, and a context that is done, end Layers.
func TestLayersEnd(t *testing.T) {
	m, err := format.OpenBytes(network(t), nil)
	expect.OK(t, err)
	defer m.Close()
	errMine := errors.New("mine")
	err = Layers(t.Context(), m, func(Layer) error { return errMine })
	if err != errMine {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = Layers(ctx, m, func(Layer) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
