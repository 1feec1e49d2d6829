package wia

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestGoldenFile compares a written file with bytes built field by field.
func TestGoldenFile(t *testing.T) {
	p := &schema.Schema{
		Metadata: schema.Metadata{{Key: "a", Value: int64(1)}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2}, Quant: nil},
			{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{3}, Quant: &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{-2}, Axis: tensor.PerTensor}},
		},
		Graph: &schema.Graph{
			Name: "g", Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: 2}, {Size: -1, Symbol: "n"}}}}, Outputs: []schema.ValueInfo{{Name: "y"}},
			Nodes:        []schema.Node{{Name: "n", Op: "Add", Inputs: []string{"x", "w"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "i", Value: int64(-1)}}}},
			Initializers: []string{"w"},
		},
	}
	graph := cat(
		st(1, "g"),
		by(2, st(1, "n"), st(2, "Add"), st(3, "x"), st(3, "w"), st(4, "y"), by(5, st(1, "i"), vi(3, -1), vi(20, 2))),
		by(3, st(1, "x"), by(2, by(1, vi(1, 1), by(2, by(1, vi(1, 2)), by(1, st(2, "n")))))),
		by(4, st(1, "y")),
		by(5, decl("w", 1, 2)))
	w := inline("w", 1, formattest.Fill(p.Tensors[0]), 2)
	q := cat(decl("q", 7, 3), by(6, by(3, vi(1, 1), fl(2, 0.5), vi(3, -2), vi(4, 7))), by(4, formattest.Fill(p.Tensors[1])))
	// Each padding field makes raw_data begin at a multiple of 64.
	pad := func(at int, record []byte, data int) []byte {
		gap := (64 - (at+len(by(1, record))-data)%64) % 64
		return cat(by(15, make([]byte, gap-2)), by(1, record))
	}
	first := pad(0, w, 8)
	want := container{meta: []byte(`{"a":1}`), graph: graph, tensor: cat(first, pad(len(first), q, 3)), aligned: true}.bytes()
	expect.Equal(t, want, writeSample(t, p, nil))
}

func TestWriterRefuses(t *testing.T) {
	one := func(d tensor.DType) []tensor.Info {
		return []tensor.Info{{Name: "w", DType: d, Shape: tensor.Shape{2}}}
	}
	graph := func(g schema.Graph) *schema.Schema { return &schema.Schema{Tensors: one(tensor.Float32), Graph: &g} }
	value := func(v any) *schema.Schema {
		return graph(schema.Graph{Nodes: []schema.Node{{Attributes: []schema.Attribute{{Name: "a", Value: v}}}}})
	}
	wide, err := tensor.FromBytes("", tensor.Float64, tensor.Shape{1}, make([]byte, 8))
	expect.OK(t, err)
	seven := Format{CompressTensor: func(tensor.Info) Compression { return 7 }}
	tests := []struct {
		name string
		p    *schema.Schema
		o    *format.WriteOptions
		want error
	}{
		{"float64", &schema.Schema{Tensors: one(tensor.Float64)}, nil, format.ErrUnsupported},
		{"metadata", &schema.Schema{Metadata: schema.Metadata{{Key: "a"}, {Key: "a"}}}, nil, tensor.ErrCorrupt},
		{"lone surrogate", &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: json.RawMessage(`"\ud800"`)}}}, nil, tensor.ErrCorrupt},
		{"tensor compression", &schema.Schema{Tensors: one(tensor.Float32)}, &format.WriteOptions{Format: seven}, format.ErrUnsupported},
		{"value of float64", graph(schema.Graph{Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float64}}}), nil, format.ErrUnsupported},
		{"inputs repeat", graph(schema.Graph{Inputs: []schema.ValueInfo{{Name: "x"}, {Name: "x"}}}), nil, tensor.ErrCorrupt},
		{"attributes repeat", graph(schema.Graph{Nodes: []schema.Node{{Attributes: make([]schema.Attribute, 2)}}}), nil, tensor.ErrCorrupt},
		{"initializer of nothing", graph(schema.Graph{Initializers: []string{"v"}}), nil, tensor.ErrCorrupt},
		{"initializer twice", graph(schema.Graph{Initializers: []string{"w", "w"}}), nil, tensor.ErrCorrupt},
		{"invalid UTF-8", graph(schema.Graph{Name: "\xff"}), nil, tensor.ErrCorrupt},
		{"attribute of another type", value(struct{}{}), nil, format.ErrUnsupported},
		{"attribute tensor of float64", value(wide), nil, format.ErrUnsupported},
		{"initializers of a subgraph", value(&schema.Graph{Initializers: []string{"w"}}), nil, format.ErrUnsupported},
		{"subgraph inputs repeat", value([]*schema.Graph{{Inputs: make([]schema.ValueInfo, 2)}}), nil, tensor.ErrCorrupt},
		{"too many levels", value(deep(34)), nil, tensor.ErrCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newWriter(&bytes.Buffer{}, tt.p, tt.o)
			if !errors.Is(err, format.ErrSchema) || !errors.Is(err, tt.want) {
				t.Errorf("NewWriter: %v, want %v", err, tt.want)
			}
		})
	}
}

// TestOptions checks that options that WIA lacks are refused by name.
func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		o     format.WriteOptions
		field string // "" for options that are accepted
	}{
		{"another compression", format.WriteOptions{Compression: "brotli"}, "Compression"},
		{"a level for CompressTensor", format.WriteOptions{Level: 3, Format: Format{CompressTensor: alternate}}, "Level"},
		{"level 99", format.WriteOptions{Compression: "gzip", Level: 99}, "Level"},
		{"the alignment that it has", format.WriteOptions{Align: 16}, ""},
		{"more alignment", format.WriteOptions{Align: 4096}, "Align"},
		{"extensions", format.WriteOptions{Extended: true}, "Extended"},
		{"negative size", format.WriteOptions{ExternalFrom: -1}, "ExternalFrom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := newWriter(io.Discard, &schema.Schema{}, &tt.o)
			if tt.field == "" {
				expect.OK(t, err)
				w.Abort()
				return
			}
			var e *tensor.Error
			if !errors.Is(err, format.ErrOption) || !errors.As(err, &e) || e.Field != tt.field || e.Format != "wia" {
				t.Errorf("%v, want ErrOption for %s", err, tt.field)
			}
		})
	}
}

// TestCompressionOfTensors checks that Compression is that of the blocks and of tensors, unless CompressTensor
// chooses another for them.
func TestCompressionOfTensors(t *testing.T) {
	only := func(c Compression) Format { return Format{CompressTensor: func(tensor.Info) Compression { return c }} }
	for _, tt := range []struct {
		name    string
		o       format.WriteOptions
		blocks  Compression
		tensors string
	}{
		{"nothing", format.WriteOptions{}, None, ""},
		{"all", format.WriteOptions{Compression: "gzip"}, Gzip, "gzip"},
		{"only blocks", format.WriteOptions{Compression: "zstd", Format: plainTensors}, Zstd, ""},
		{"only tensors", format.WriteOptions{Format: only(Gzip)}, None, "gzip"},
		{"tensors otherwise", format.WriteOptions{Compression: "gzip", Format: only(Zstd)}, Gzip, "zstd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, writeSample(t, tinySchema(), &tt.o), nil)
			expect.OK(t, verify(f))
			expect.Equal(t, tt.blocks, f.Compression())
			for name, v := range f.Tensors() {
				if got := v.Info().Compression; got != tt.tensors {
					t.Errorf("%s: %q, want %q", name, got, tt.tensors)
				}
			}
		})
	}
}

// deep returns a graph with n nested subgraphs.
func deep(n int) *schema.Graph {
	g := &schema.Graph{}
	for range n {
		g = &schema.Graph{Nodes: []schema.Node{{Attributes: []schema.Attribute{{Name: "a", Value: g}}}}}
	}
	return g
}

// TestConvertedAttributes checks the conversion of attribute values that ONNX does
// not have.
func TestConvertedAttributes(t *testing.T) {
	values := []struct{ in, want any }{
		{true, int64(1)}, {false, int64(0)}, {0.1, float32(0.1)}, {math.Inf(1), float32(math.Inf(1))}, {[]int32{1, -2}, []int64{1, -2}},
		{[]float64{0.5}, []float32{0.5}}, {json.RawMessage(`{"a":1}`), `{"a":1}`}, {nil, nil}, {[]string{}, []string{}}, {"", ""}, {float32(0), float32(0)},
	}
	p := &schema.Schema{Graph: &schema.Graph{Nodes: []schema.Node{{}}, Initializers: []string{}}}
	for i, v := range values {
		p.Graph.Nodes[0].Attributes = append(p.Graph.Nodes[0].Attributes, schema.Attribute{Name: fmt.Sprint(i), Value: v.in})
	}
	var lost *schema.LossError
	_, err := newWriter(&bytes.Buffer{}, p, nil)
	if !errors.As(err, &lost) {
		t.Fatalf("without leave: %v", err)
	}
	var items []string
	for _, l := range lost.Losses {
		items = append(items, l.Item())
	}
	expect.Equal(t, []string{"conversion:nodes[0].0", "conversion:nodes[0].1", "conversion:nodes[0].6"}, items)
	f := mustOpen(t, writeSample(t, p, &format.WriteOptions{AcceptLoss: []string{"conversion"}}), nil)
	g, err := f.Graph()
	expect.OK(t, err)
	for i, v := range values {
		if diff := cmp.Diff(v.want, g.Nodes[0].Attributes[i].Value, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%T %v: %s", v.in, v.in, diff)
		}
	}
}

// TestDeclaresAll checks that a graph without a list of initializers declares all
// tensors.
func TestDeclaresAll(t *testing.T) {
	p := tinySchema()
	p.Graph.Initializers = nil
	f := mustOpen(t, writeSample(t, p, nil), nil)
	g, err := f.Graph()
	expect.OK(t, err)
	expect.Equal(t, []string{"w", "empty", "bb", "q"}, g.Initializers)
	p.Graph = nil
	f = mustOpen(t, writeSample(t, p, nil), nil)
	if g, err = f.Graph(); g != nil || err != nil {
		t.Errorf("a graph from nothing: %v %v", g, err)
	}
}
