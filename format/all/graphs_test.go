package all_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestOrdinaryGraphs: the default limits are far from what models have: a graph of
// 30,000 nodes with usual names and attributes.
func TestOrdinaryGraphs(t *testing.T) {
	const n = 30_000
	value := func(name string) []schema.ValueInfo {
		return []schema.ValueInfo{{Name: name, DType: tensor.Float32, Dims: schema.FixedDims(1)}}
	}
	for _, f := range []struct{ name, op, edge, node string }{
		{"mobi", "Relu", "%d", ""},
		{"mle", "ReLU", "/model/layers.%d/mlp/act/Relu_output_0", ""},
		{"wia", "Relu", "/model/layers.%d/mlp/act/Relu_output_0", "/model/layers.%d/mlp/act/Relu"},
		{"onnx", "Relu", "/model/layers.%d/mlp/act/Relu_output_0", "/model/layers.%d/mlp/act/Relu"},
	} {
		t.Run(f.name, func(t *testing.T) {
			edge := func(i int) string {
				if i == 0 || i == n {
					return map[int]string{0: "x", n: "y"}[i]
				}
				return fmt.Sprintf(f.edge, i)
			}
			g := &schema.Graph{Inputs: value("x"), Outputs: value("y")}
			for i := range n {
				node := schema.Node{Op: f.op, Inputs: []string{edge(i)}, Outputs: []string{edge(i + 1)}}
				node.Attributes = []schema.Attribute{{Name: "axis", Value: int64(1)}, {Name: "kernel_shape", Value: []int64{3, 3}}}
				if f.name == "mobi" {
					node.Attributes = node.Attributes[:1]
				}
				if f.node != "" {
					node.Name = fmt.Sprintf(f.node, i)
				}
				g.Nodes = append(g.Nodes, node)
			}
			path := filepath.Join(t.TempDir(), "m."+f.name)
			expect.OK(t, create(f.name, path, &schema.Schema{Graph: g}, &format.WriteOptions{NoSync: true}))
			got, err := open(t, path, nil).Graph()
			expect.OK(t, err)
			if len(got.Nodes) != n {
				t.Errorf("%d nodes", len(got.Nodes))
			}
		})
	}
}
