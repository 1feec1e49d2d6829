package mobile

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestMobiNames: names that the file stores stand wherever tensors are named, and the numbers
// find them as well. Without stored names the numbers are the names.
func TestMobiNames(t *testing.T) {
	info := func(name string) tensor.Info {
		return tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1, 256}}
	}
	x, y := format.FixedDims(1, 256), format.FixedDims(1, 1)
	graph := func(weight string) *format.Graph {
		return &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: x}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: y}},
			Nodes:   []format.Node{{Op: "FullyConnected", Inputs: []string{"x", weight}, Outputs: []string{"y"}}},
		}
	}
	for _, test := range []struct {
		name  string
		plan  *format.Plan
		keep  bool
		names []string
		graph []string // the inputs of its node
	}{
		{"with a graph", &format.Plan{Tensors: []tensor.Info{info("fc.weight")}, Graph: graph("fc.weight")}, true,
			[]string{"fc.weight"}, []string{"x", "fc.weight"}},
		{"without a graph", &format.Plan{Tensors: []tensor.Info{info("b"), info("a")}}, true, []string{"b", "a"}, nil},
		{"numbers", &format.Plan{Tensors: []tensor.Info{info("7")}, Graph: graph("7")}, false, []string{"7"}, []string{"x", "7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &format.WriteOptions{KeepNames: test.keep, Storage: format.Storage{Compression: "gzip", Level: 9}}
			m := openBytes(t, written(t, "mobi", test.plan, o, slices.Repeat([][]byte{make([]byte, 1024)}, len(test.plan.Tensors))...))
			watched := map[string]bool{}
			r, err := m.Verify(progress(func(_, _ int64, tensor string) bool { watched[tensor] = true; return true }), nil)
			must(t, err)
			list := m.TensorList()
			for i, name := range test.names {
				var entry listed
				entry, list = readListed(t, list)
				x, id := get(t, m, name), m.m.At(i).Name()
				got := []string{m.TensorName(int64(i)), entry.Name, x.Name(), get(t, m, id).Name()}
				equal(t, "TensorName, TensorList, Name, by number", []string{name, name, name, name}, got)
				if x.view.Name() != id || !watched[name] || r.ChecksumOf(name) == "" {
					t.Errorf("%s: number %s, want %s; progress %v, checksum %q", name, x.view.Name(), id, watched, r.ChecksumOf(name))
				}
			}
			text, err := m.GraphJSON()
			must(t, err)
			var g struct{ Nodes []struct{ Inputs []string } }
			if text != "" {
				must(t, json.Unmarshal([]byte(text), &g))
			}
			var inputs []string
			for _, n := range g.Nodes {
				inputs = append(inputs, n.Inputs...)
			}
			equal(t, "inputs of the nodes", test.graph, inputs)
			if meta, err := m.MetadataJSON(); err != nil || test.keep && test.plan.Graph == nil && meta != "{}" {
				t.Errorf("metadata %s, %v", meta, err)
			}
		})
	}
}
