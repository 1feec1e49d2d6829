package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestColumns: narrow terminals get the columns that matter, never longer lines.
func TestColumns(t *testing.T) {
	x := func(f float64) *float64 { return &f }
	r := &report{all: 2, Path: "m.wia", Format: "wia", Version: "1.0", FileSize: 2624, Tensors: []tensorReport{
		{Name: "encoder.layers.11.attention.self.query.weight", DType: "int8", Shape: []int64{768, 3072}, Offset: 0x1000, Bytes: 2359296, StoredBytes: 2359296, ZeroCopy: true,
			Quantization: &quantizationReport{Scheme: "linear", Axis: 0, Scales: 768}},
		{Name: "a\x1b[2Jb", DType: "float32", Shape: []int64{12}, Offset: -1, Bytes: 48, StoredBytes: 20, Compression: "gzip"},
	}}
	golden := func(width int, want string) {
		t.Helper()
		var out bytes.Buffer
		expect.OK(t, tensorTable(r.Tensors, nil).Write(&out, width))
		if diff := cmp.Diff(want, "\n"+out.String()); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", width, diff)
		}
	}
	golden(120, `
NAME                                       DTYPE    SHAPE         SIZE  OFFSET  STORED      QUANTIZATION
encoder.layers.11.at…on.self.query.weight  int8     [768,3072]  2.4 MB  0x1000  zero-copy   linear, 768 scales on axis 0
a\u001b[2Jb                                float32  [12]          48 B       -  gzip, 20 B
`)
	r.Tensors[0].Stats = &statistics{Min: x(-4), Max: x(3.96875), Mean: x(-0.001234567), Zeros: 12345}
	golden(120, `
NAME                                      DTYPE    SHAPE         SIZE  MIN    MAX       MEAN   ZEROS  OFFSET  STORED
encoder.layers.11.at…n.self.query.weight  int8     [768,3072]  2.4 MB   -4  3.969  -0.001235  12,345  0x1000  zero-copy
a\u001b[2Jb                               float32  [12]          48 B                                      -  gzip, 20 B
`)
	r.Tensors[1].Stats = &statistics{NaN: 11, Infinite: 1}
	golden(80, `
NAME                DTYPE    SHAPE       MIN    MAX       MEAN   ZEROS  NAN  INF
encoder.l…y.weight  int8     [768,3072]   -4  3.969  -0.001235  12,345    0    0
a\u001b[2Jb         float32  [12]          -      -          -       0   11    1
`)
}

// TestGraph: nodes read as calls, and nothing that is not known is made up.
func TestGraph(t *testing.T) {
	sub := &schema.Graph{Name: "else", Nodes: make([]schema.Node, 2)}
	g := &schema.Graph{
		Inputs: []schema.ValueInfo{
			{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: 1}, {Size: schema.DynamicDim}, {Size: schema.DynamicDim, Symbol: "batch"}}},
			{Name: "scalar", DType: tensor.Bool}, {Name: "odd", Code: "77"}, {Name: "unknown"},
		},
		Nodes: []schema.Node{{Op: "If", Inputs: []string{"x", "w"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{
			{Name: "n", Value: int64(3)}, {Name: "s", Value: "<&>"}, {Name: "dims", Value: []int64{1, 2}},
			{Name: "else_branch", Value: sub}, {Name: "graphs", Value: []*schema.Graph{sub, {}}},
		}}},
	}
	var out bytes.Buffer
	(&Lines{Out: &out, Width: 160}).graph(g)
	want := `
graph, 1 node
  input  x float32[1,?,batch]
  input  scalar bool[]
  input  odd 77[]
  input  unknown
  If(x, w) -> y n=3 s="<&>" dims=[1,2] else_branch=(graph else, 2 nodes) graphs=(graph else, 2 nodes; graph, 0 nodes)
`
	expect.Equal(t, want, out.String())
}

// TestStreamedJSON: the text is that of encoding/json, which makes it whole.
func TestStreamedJSON(t *testing.T) {
	type whole struct {
		Path      string           `json:"path"`
		Format    string           `json:"format"`
		Version   string           `json:"version"`
		FileSize  int64            `json:"file_size"`
		Files     []fileReport     `json:"files"`
		Metadata  schema.Metadata  `json:"metadata"`
		Tensors   []tensorReport   `json:"tensors"`
		Graph     *schema.Graph    `json:"graph"`
		Signature *signatureReport `json:"signature"`
		Notes     []string         `json:"notes"`
	}
	when := "2024-02-29T23:59:58Z"
	graph := &schema.Graph{
		Name:   "a<b>&\"c\"",
		Inputs: []schema.ValueInfo{{Name: "<x>", DType: tensor.Float32, Dims: []schema.Dim{{Symbol: "batch&"}, {Size: -1}}}, {}},
		Nodes: []schema.Node{
			{},
			{Name: "<n>", Op: "If", Domain: "com.example&", Inputs: []string{"", "重み"}, Outputs: []string{"y\n"}, Attributes: []schema.Attribute{
				{Name: "then>", Value: &schema.Graph{Name: "<t>", Nodes: []schema.Node{{Op: "Relu", Inputs: []string{"x"}}}}},
				{Name: "raw", Value: json.RawMessage(`{"a<": [1, {"b": "<"}], "c": {}}`)},
				{Name: "nan", Value: []float64{math.NaN(), 1}}, {Name: "none", Value: []int64{}},
			}},
		},
	}
	for name, r := range map[string]*report{
		"all": {
			Path: "a<b>.mag", Format: "mag", Version: "1", FileSize: 7, Files: []fileReport{{"a<b>.mag", 7}}, Notes: []string{"one & \"two\"", "<three>"},
			Metadata:  schema.Metadata{{Key: "nodes", Value: json.RawMessage("[]")}, {Key: "<k>", Value: "<v>"}, {Key: "inf", Value: math.Inf(1)}},
			Tensors:   []tensorReport{{Name: "<w>", DType: "int8", Shape: []int64{}}, {Name: "v", Shape: []int64{2, 3}, Quantization: &quantizationReport{Scheme: "linear"}}},
			Signature: &signatureReport{Algorithm: "Ed25519", Time: &when}, Graph: graph,
		},
		"long nodes": {Files: []fileReport{}, Notes: []string{}, Tensors: []tensorReport{}, Graph: &schema.Graph{Nodes: []schema.Node{
			{Name: "<n>", Op: "Add<", Inputs: []string{"重み<&>", strings.Repeat("x", 1<<16)}},
			{Domain: "com.example&", Outputs: slices.Repeat([]string{strings.Repeat("<", 1<<10)}, 64), Attributes: []schema.Attribute{
				{Name: "a<", Value: int64(1)}, {Name: "then>", Value: &schema.Graph{Name: "<t>"}},
			}},
		}}},
		"an empty graph": {Files: []fileReport{}, Graph: &schema.Graph{}, Notes: []string{}, Tensors: []tensorReport{}},
	} {
		for _, oneLine := range []bool{false, true} {
			var want, got bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			if !oneLine {
				e.SetIndent("", " ")
			}
			expect.OK(t, e.Encode(whole{r.Path, r.Format, r.Version, r.FileSize, r.Files, r.Metadata, r.Tensors, r.Graph, r.Signature, r.Notes}))
			expect.OK(t, r.json(bufio.NewWriter(&got), oneLine))
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s, on one line: %v (-want +got):\n%s", name, oneLine, diff)
			}
		}
	}
	r := &report{Metadata: schema.Metadata{{Key: "k", Value: json.RawMessage("{")}}}
	if err := r.json(bufio.NewWriter(&bytes.Buffer{}), false); err == nil {
		t.Error("no error for what is no JSON")
	}
}

// TestTotals: sums do not wrap, however much a file claims.
func TestTotals(t *testing.T) {
	r := &report{all: 2, Tensors: []tensorReport{
		{DType: "Q9", Shape: []int64{1 << 62}, Bytes: 1 << 62}, {DType: "Q9", Shape: []int64{1 << 62}, Bytes: 1 << 62},
	}}
	want := "2 tensors, 9,223,372,036,854,775,808 parameters, 9,223,372,036,854,775,808 bytes: Q9 9,223,372,036,854,775,808 bytes"
	expect.Equal(t, want, r.totals())
}

// TestNoArrays: a vocabulary is not printed, whatever its type.
func TestNoArrays(t *testing.T) {
	meta := schema.Metadata{
		{Key: "general.name", Value: "[]"},
		{Key: "tokens", Value: json.RawMessage(`["a","b","]"]`)},
		{Key: "scores", Value: []float64{0.5, math.Inf(1)}},
		{Key: "none", Value: []string{}},
		{Key: "mixed", Value: json.RawMessage(`[1, "a"]`)},
		{Key: "nested", Value: json.RawMessage(`{"a": [1]}`)},
		{Key: "lists", Value: json.RawMessage(`[[1], [2, 3]]`)},
		{Key: "flags", Value: json.RawMessage(`[true, false, false]`)},
		{Key: "n", Value: int64(7)},
	}
	got, err := withoutArrays(meta)
	expect.OK(t, err)
	text, err := json.Marshal(got)
	expect.OK(t, err)
	want := `{"general.name":"[]","tokens":{"type":"string","length":3},"scores":{"type":"mixed","length":2},"none":{"type":"","length":0},` +
		`"mixed":{"type":"mixed","length":2},"nested":{"a":[1]},"lists":{"type":"array","length":2},"flags":{"type":"boolean","length":3},"n":7}`
	expect.Equal(t, want, string(text))
	if _, err := withoutArrays(schema.Metadata{{Key: "k", Value: json.RawMessage("[")}}); err == nil {
		t.Error("no error for what is no JSON")
	}
}
