package all

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestOrdinaryGraphs: the default limits are far from what models have: a graph of
// 10,000 nodes with usual names and attributes, and one three times as large.
func TestOrdinaryGraphs(t *testing.T) {
	for _, f := range []struct{ name, op string }{{"mobi", "Relu"}, {"mle", "ReLU"}, {"wia", "Relu"}, {"onnx", "Relu"}} {
		for _, n := range []int{10_000, 30_000} {
			t.Run(fmt.Sprintf("%s with %d nodes", f.name, n), func(t *testing.T) {
				edge := func(i int) string {
					if f.name == "mobi" {
						return fmt.Sprint(i)
					}
					return fmt.Sprintf("/model/layers.%d/mlp/act/Relu_output_0", i)
				}
				value := func(name string) []format.ValueInfo {
					return []format.ValueInfo{{Name: name, DType: tensor.Float32, Dims: []format.Dim{{Size: 1}}}}
				}
				g := &format.Graph{Inputs: value(edge(0)), Outputs: value(edge(n))}
				for i := range n {
					node := format.Node{Op: f.op, Inputs: []string{edge(i)}, Outputs: []string{edge(i + 1)}}
					if f.name == "wia" || f.name == "onnx" {
						node.Name = fmt.Sprintf("/model/layers.%d/mlp/act/Relu", i)
					}
					node.Attributes = []format.Attribute{{Name: "axis", Value: int64(1)}, {Name: "kernel_shape", Value: []int64{3, 3}}}
					if f.name == "mobi" {
						node.Attributes = node.Attributes[:1]
						g.Inputs[0].Name, g.Outputs[0].Name = "x", "y"
						if i == 0 {
							node.Inputs[0] = "x"
						}
						if i == n-1 {
							node.Outputs[0] = "y"
						}
					}
					g.Nodes = append(g.Nodes, node)
				}
				path := filepath.Join(t.TempDir(), "m."+f.name)
				w, err := format.Create(f.name, path, &format.Plan{Graph: g}, &format.WriteOptions{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				m, err := format.Open(path, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if g, err := m.Graph(); err != nil || len(g.Nodes) != n {
					t.Fatal(err)
				}
			})
		}
	}
}
