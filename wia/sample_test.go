package wia

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

var testKey = bytes.Repeat([]byte{7}, 32)

func allDTypes() []tensor.DType { return dtypes[1:] }

// sampleSchema returns a schema with tensors of all dtypes, quantization, metadata and
// a graph.
func sampleSchema(t testing.TB) *schema.Schema {
	t.Helper()
	p := &schema.Schema{}
	for i, d := range allDTypes() {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf("layer.%d/%v", i, d), DType: d, Shape: tensor.Shape{int64(i), 3, 5}})
	}
	p.Tensors = append(p.Tensors,
		tensor.Info{Name: "scalar", DType: tensor.Float32},
		tensor.Info{Name: strings.Repeat("blocks.", 6) + "attention", DType: tensor.Float16, Shape: tensor.Shape{7}},
		tensor.Info{Name: strings.Repeat("blocks.", 6) + "feed_forward", DType: tensor.Float32, Shape: tensor.Shape{5}},
		tensor.Info{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{-3}, Axis: tensor.PerTensor}},
		tensor.Info{Name: "pc", DType: tensor.Uint8, Shape: tensor.Shape{3, 2}, Quant: &tensor.Quantization{Scheme: tensor.Logarithmic, Scales: []float32{1, 2, 3}, ZeroPoints: []int32{0, 1, -1}, Axis: 0}},
		tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{4, 4}})
	p.Metadata = schema.Metadata{{Key: "model_info", Value: json.RawMessage(`{"name":"m"}`)}, {Key: "x", Value: int64(1)}}
	k, err := tensor.FromBytes("", tensor.Float32, tensor.Shape{2}, make([]byte, 8))
	expect.OK(t, err)
	p.Graph = &schema.Graph{
		Name:    "main",
		Inputs:  []schema.ValueInfo{{Name: "in", DType: tensor.Float32, Dims: []schema.Dim{{Size: -1, Symbol: "batch"}, {Size: 4}, {Size: -1}}}},
		Outputs: []schema.ValueInfo{{Name: "y"}},
		Nodes: []schema.Node{
			{Name: "n", Op: "Gemm", Domain: "com.example", Inputs: []string{"in", "w", ""}, Outputs: []string{"y"}, Attributes: []schema.Attribute{
				{Name: "a", Value: int64(0)}, {Name: "b", Value: float32(0.5)}, {Name: "c", Value: "text"}, {Name: "d", Value: []int64{1, -1}},
				{Name: "e", Value: []float32{1, 2}}, {Name: "f", Value: []string{"x", ""}}, {Name: "g", Value: k}, {Name: "h", Value: []tensor.View{k, k}},
				{Name: "i", Value: &schema.Graph{Name: "sub", Nodes: []schema.Node{{Op: "Relu", Inputs: []string{"y"}, Outputs: []string{"z"}}}, Initializers: []string{}}},
				{Name: "j", Value: []*schema.Graph{{Name: "s0", Initializers: []string{}}, {Name: "s1", Initializers: []string{}}}},
			}},
		},
		Initializers: []string{"w", "q"},
	}
	p.Docs = []schema.Doc{
		{Path: "graph", Properties: [][2]string{{"k", "v"}, {"k", ""}}},
		{Path: "graph.nodes[0]", Text: "a node"},
		{Path: "graph.nodes[0].attributes[6].t", Text: "a constant", Properties: [][2]string{{"k", "v"}}},
		{Path: "graph.nodes[0].attributes[8].g.nodes[0]", Text: "inside"},
		{Path: "graph.inputs[0]", Text: "an input"},
		{Path: "graph.initializers[1]", Text: "declared"},
		{Path: `tensor "scalar"`, Text: "a scalar"},
		{Path: `tensor "q"`, Properties: [][2]string{{"", "é"}}},
	}
	return p
}

// alternate stores tensors plainly, as gzip and as zstd.
func alternate(info tensor.Info) Compression { return Compression(len(info.Name) % 3) }

// writeSample writes a schema with the data of formattest.Fill and returns the file.
func writeSample(t testing.TB, p *schema.Schema, o *format.WriteOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	own := *cmp.Or(o, new(format.WriteOptions))
	own.Spool, own.Time = format.SpoolMemory, time.Unix(1700000000, 0)
	w, err := newWriter(&out, p, &own)
	expect.OK(t, err)
	for _, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(formattest.Fill(info))))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// tinySchema returns a small schema with all that changes the layout: the conformance
// kit flips every bit of its file.
func tinySchema() *schema.Schema {
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "a", Value: "b"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{30}},
			{Name: "empty", DType: tensor.Int64, Shape: tensor.Shape{0, 2}},
			{Name: "bb", DType: tensor.BFloat16, Shape: tensor.Shape{}},
			{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2}, Quant: &tensor.Quantization{Scales: []float32{1, 2}, Axis: 0}},
		},
		Graph: &schema.Graph{Nodes: []schema.Node{{Op: "Relu", Inputs: []string{"w"}, Outputs: []string{"y"}}}, Initializers: []string{"w"}},
	}
}
