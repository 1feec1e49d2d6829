package convert_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// documented writes a model of two weights, in a format, with a doc for each part.
func documented(t *testing.T, f format.Format) string {
	t.Helper()
	a := floats("a", tensor.Shape{2, 2}, 1, 2, 3, 4)
	b := floats("b", tensor.Shape{2, 2}, 1, 2, 3, 4)
	relu := &schema.Graph{Outputs: []schema.ValueInfo{{Name: "o"}}, Nodes: []schema.Node{{Op: "Relu", Inputs: []string{"y"}, Outputs: []string{"o"}}}}
	g := &schema.Graph{
		Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}}, Outputs: []schema.ValueInfo{{Name: "z"}}, Initializers: []string{"a", "b"},
		Nodes: []schema.Node{
			{Op: "Gemm", Inputs: []string{"x", "a"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "transB", Value: int64(1)}}},
			{Op: "If", Inputs: []string{"x"}, Outputs: []string{"z"}, Attributes: []schema.Attribute{{Name: "then_branch", Value: relu}}},
		},
	}
	docs := []schema.Doc{
		{Path: "graph.nodes[0]", Text: "a layer"},
		{Path: "graph.nodes[0].attributes[0]", Text: "transposed"},
		{Path: "graph.nodes[1].attributes[0].g.nodes[0]", Text: "in a branch"},
		{Path: "graph.inputs[0]", Text: "an image"},
		{Path: `tensor "a"`, Text: "of the layer", Properties: [][2]string{{"k", "v"}}},
		{Path: `tensor "b"`, Text: "unused"},
	}
	path := filepath.Join(t.TempDir(), "m")
	w, err := format.Create(path, &schema.Schema{Tensors: []tensor.Info{a.info, b.info}, Graph: g, Docs: docs}, &format.WriteOptions{Format: f})
	expect.OK(t, err)
	for _, o := range []one{a, b} {
		expect.OK(t, w.WriteTensor(o.info.Name, strings.NewReader(string(o.data))))
	}
	expect.OK(t, w.Close())
	return path
}

// docsOf returns the docs of a file, without names.
func docsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	m, err := format.Open(path, nil)
	expect.OK(t, err)
	defer m.Close()
	p, err := m.Schema()
	expect.OK(t, err)
	docs := map[string]string{}
	for _, d := range p.Docs {
		docs[d.Path] = d.Text
		for _, pair := range d.Properties {
			docs[d.Path] += " " + pair[0] + "=" + pair[1]
		}
	}
	return docs
}

// TestDocsConvert: ONNX and WIA have the docs of each other, which follow what changes.
func TestDocsConvert(t *testing.T) {
	all := map[string]string{
		"graph.nodes[0]": "a layer", "graph.nodes[0].attributes[0]": "transposed", "graph.nodes[1].attributes[0].g.nodes[0]": "in a branch",
		"graph.inputs[0]": "an image", `tensor "a"`: "of the layer k=v", `tensor "b"`: "unused",
	}
	renamed := map[string]string{}
	later := map[string]string{} // after the two nodes that dequantize
	kept := map[string]string{}
	for path, text := range all {
		renamed[strings.NewReplacer(`tensor "`, `tensor "new.`).Replace(path)] = text
		later[strings.NewReplacer("graph.nodes[0]", "graph.nodes[1]", "graph.nodes[1]", "graph.nodes[2]").Replace(path)] = text
		if path != `tensor "b"` {
			kept[path] = text
		}
	}
	quantized := func(tensor.Info) *tensor.QuantizeOptions { return &tensor.QuantizeOptions{DType: tensor.Int8} }
	for _, c := range []struct {
		name     string
		from, to format.Format
		o        convert.Options
		want     map[string]string
	}{
		{"WIA to ONNX", wia.Format{}, onnx.Format{}, convert.Options{}, all},
		{"ONNX to WIA", onnx.Format{}, wia.Format{}, convert.Options{}, all},
		{"WIA to WIA, renamed", wia.Format{}, wia.Format{}, convert.Options{Rename: func(s string) string { return "new." + s }}, renamed},
		{"ONNX to WIA, renamed", onnx.Format{}, wia.Format{}, convert.Options{Rename: func(s string) string { return "new." + s }}, renamed},
		{"WIA to WIA without a tensor", wia.Format{}, wia.Format{}, convert.Options{Keep: func(i tensor.Info) bool { return i.Name != "b" }}, kept},
		{"ONNX to ONNX, quantized", onnx.Format{}, onnx.Format{}, convert.Options{Quantize: quantized, QuantizeOnly: func(i tensor.Info) bool { return i.Name == "a" }}, later},
		{"WIA to WIA, quantized", wia.Format{}, wia.Format{}, convert.Options{Quantize: quantized}, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			o := c.o
			o.Write = &format.WriteOptions{Format: c.to}
			_, err := convert.File(t.Context(), documented(t, c.from), out, &o)
			expect.OK(t, err)
			expect.Equal(t, c.want, docsOf(t, out))
		})
	}
}

// TestDocsLost: formats without docs list them, and write the rest.
func TestDocsLost(t *testing.T) {
	for _, to := range []string{"safetensors", "gguf", "mag", "mobi", "mle"} {
		t.Run(to, func(t *testing.T) {
			f, err := format.ByName(to)
			expect.OK(t, err)
			out := filepath.Join(t.TempDir(), "out")
			o := convert.Options{Write: &format.WriteOptions{Format: f}}
			in := documented(t, onnx.Format{})
			_, err = convert.File(t.Context(), in, out, &o)
			expect.Refused(t, format.ErrSchema)(nil, err)
			o.Lossy = true
			r, err := convert.File(t.Context(), in, out, &o)
			expect.OK(t, err)
			var lost []string
			for _, l := range r.Losses {
				lost = append(lost, l.Item())
			}
			if !slices.Contains(lost, "label:doc_string") || !slices.Contains(lost, "label:properties") {
				t.Errorf("%q", lost)
			}
		})
	}
}

// TestDocsTranslate: docs of nodes follow what the nodes are translated to, and those of nodes and
// tensors that are gone go with them. No doc is about a part that is not there.
func TestDocsTranslate(t *testing.T) {
	w := floats("w", tensor.Shape{2, 2}, 1, 2, 3, 4)
	b := floats("b", tensor.Shape{2}, 1, 2)
	shape := raw("shape", tensor.Int64, tensor.Shape{2}, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0})
	g := &schema.Graph{
		Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}}, Outputs: []schema.ValueInfo{{Name: "z", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Nodes: []schema.Node{
			{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"i"}},
			{Op: "Gemm", Inputs: []string{"i", "w", "b"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "transB", Value: int64(1)}}},
			{Op: "Reshape", Inputs: []string{"y", "shape"}, Outputs: []string{"z"}},
		},
	}
	docs := []schema.Doc{
		{Path: "graph.nodes[0]", Text: "nothing"}, {Path: "graph.nodes[1]", Text: "a layer"}, {Path: "graph.nodes[1].attributes[0]", Text: "transposed"},
		{Path: "graph.nodes[2]", Text: "a row"}, {Path: `tensor "shape"`, Text: "of the row"}, {Path: `tensor "w"`, Text: "of the layer"}, {Path: "graph.inputs[0]", Text: "x"},
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "m.onnx")
	writer, err := format.Create(in, &schema.Schema{Tensors: []tensor.Info{w.info, b.info, shape.info}, Graph: g, Docs: docs}, nil)
	expect.OK(t, err)
	for _, o := range []one{w, b, shape} {
		expect.OK(t, writer.WriteTensor(o.info.Name, strings.NewReader(string(o.data))))
	}
	expect.OK(t, writer.Close())
	for _, to := range []string{"m.mle", "m.mobi"} {
		out := filepath.Join(dir, to)
		_, err = convert.File(t.Context(), in, out, nil)
		var refused *schema.LossError
		if !errors.As(err, &refused) {
			t.Fatalf("%s: %v", to, err)
		}
		var lost []string
		for _, l := range refused.Losses {
			if l.Kind == schema.LossLabel && l.Name == "doc_string" {
				lost = append(lost, l.Why)
			}
		}
		expect.Equal(t, []string{"the format has no place for those of 4 parts, such as graph.nodes[0]"}, lost)
		_, err = convert.File(t.Context(), in, out, &convert.Options{Lossy: true})
		expect.OK(t, err)
	}
}
