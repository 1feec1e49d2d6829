package schema_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestGraphJSON(t *testing.T) {
	v, err := tensor.FromBytes("t", tensor.Int8, tensor.Shape{2}, []byte{1, 2})
	expect.OK(t, err)
	attr := func(value any) *schema.Graph {
		return &schema.Graph{Nodes: []schema.Node{{Op: "X", Attributes: []schema.Attribute{{Name: "b", Value: value}, {Name: "a", Value: true}}}}}
	}
	withAttr := func(text string) string {
		return `{"name":"","inputs":[],"outputs":[],"nodes":[{"name":"","op":"X","inputs":[],"outputs":[],"attributes":{"b":` + text + `,"a":true}}]}`
	}
	for _, tt := range []struct {
		name  string
		graph *schema.Graph
		want  string
	}{
		{"nil", nil, "null"},
		{"empty", &schema.Graph{}, `{"name":"","inputs":[],"outputs":[],"nodes":[]}`},
		{"values", &schema.Graph{
			Name:    "g",
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: -1, Symbol: "batch"}, {Size: 3}, {Size: -1}}}},
			Outputs: []schema.ValueInfo{{Name: "y"}},
			Nodes:   []schema.Node{{Name: "n", Op: "Add", Domain: "d", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
		}, `{"name":"g","inputs":[{"name":"x","dtype":"float32","shape":["batch",3,-1]}],"outputs":[{"name":"y","dtype":"","shape":[]}],` +
			`"nodes":[{"name":"n","op":"Add","domain":"d","inputs":["x","w"],"outputs":["y"],"attributes":{}}]}`},
		{"odd values", &schema.Graph{Inputs: []schema.ValueInfo{{Name: "x", Code: "100", Dims: []schema.Dim{{Size: -1, Symbol: "9223372036854775808"}, {Size: -1, Symbol: "7"}}}}},
			`{"name":"","inputs":[{"name":"x","dtype":"100","shape":[9223372036854775808,"7"]}],"outputs":[],"nodes":[]}`},
		{"NaN", attr(math.NaN()), withAttr(`"NaN"`)},
		{"floats", attr([]float32{1, float32(math.Inf(1))}), withAttr(`[1.0,"+Inf"]`)},
		{"tensor", attr(v), withAttr(`{"dtype":"int8","shape":[2]}`)},
		{"tensors", attr([]tensor.View{v}), withAttr(`[{"dtype":"int8","shape":[2]}]`)},
		{"graph", attr(&schema.Graph{Name: "sub"}), withAttr(`{"name":"sub","inputs":[],"outputs":[],"nodes":[]}`)},
		{"graphs", attr([]*schema.Graph{{Name: "sub"}}), withAttr(`[{"name":"sub","inputs":[],"outputs":[],"nodes":[]}]`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.graph)
			expect.OK(t, err)
			expect.Equal(t, tt.want, string(got))
		})
	}
}
