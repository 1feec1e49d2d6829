package onnx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/tensor"
)

// neutral takes out what the writer adds.
func neutral(p *schema.Schema) *schema.Schema {
	c := *p
	c.Metadata = slices.DeleteFunc(slices.Clone(p.Metadata), func(e schema.Entry) bool { return e.Key == "ir_version" || e.Key == opsets.Key })
	if p.Graph != nil {
		g := *p.Graph
		g.Initializers = nil
		c.Graph = &g
	}
	return &c
}

// typed is a model with data in lists, packed or not, with fields of a later version, and with types that have no dtype.
var typed = cat(modelOf(tensorOf(num(1, 3), num(2, 3), str(8, "p"), ld(5, varint(negative), varint(0), varint(127))), tensorOf(num(1, 2), num(2, 1), str(8, "u"), f32(4, 1), f32(4, -2)),
	str(200, "new"), tensorOf(num(1, 1), num(2, 8), str(300, "x"), str(8, "w"), str(6, "text")), tensorOf(num(1, 2), num(2, 99), str(8, "v"), ld(9, []byte{1, 2, 3}))), num(99, 5))

// TestConformance runs the kit.
func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var known []tensor.DType
	for d := tensor.Invalid + 1; d.Valid(); d++ {
		if codeOf(d) != 0 {
			known = append(known, d)
		}
	}
	small := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: known, Tensors: 4})
	small.Metadata = schema.Metadata{{Key: "producer_name", Value: "kit"}, {Key: "model_version", Value: int64(3)}, {Key: "k", Value: "v"}, {Key: "", Value: "é\x00"}}
	small.Graph = testGraph(small.Tensors[0].Name)
	small.Docs = []schema.Doc{
		{Path: "graph", Text: "a graph", Properties: [][2]string{{"k", "v"}, {"k", ""}}},
		{Path: "graph.nodes[1]", Properties: [][2]string{{"", "é"}}},
		{Path: "graph.nodes[1].attributes[8].t", Text: "a constant"},
		{Path: "graph.outputs[1]", Text: "an output"},
		{Path: fmt.Sprintf("tensor %q", small.Tensors[2].Name), Text: "a tensor"},
	}
	long := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: known, Tensors: 3, Name: formattest.LongName})
	listed := &schema.Schema{}
	for _, code := range []int{15, 18, 21, 24, 25} {
		e := elemTypes[code].enc
		listed.Tensors = append(listed.Tensors, tensor.Info{Name: e.Name, Encoding: e, Shape: tensor.Shape{3, 4}})
	}
	const noSums = "the format has no checksums"
	formattest.Run(t, formattest.Config{
		Format: Format{}, Neutral: neutral, ZeroCopy: true, Align: alignment, MaxAllocs: 60,
		Samples: []formattest.Sample{
			{Name: "small", Schema: small},
			{Name: "long", Schema: long},
			{Name: "listed", Schema: listed},
			{Name: "empty", Schema: &schema.Schema{}},
			{Name: "metadata", Schema: &schema.Schema{Metadata: schema.Metadata{{Key: opsets.Key, Value: json.RawMessage(`[{"domain":"","version":13}]`)}, {Key: "x", Value: "y"}}}},
		},
		Files: []formattest.File{{Name: "lists, unknown fields, listed types", Bytes: typed}},
		Exempt: map[string]string{
			"BitFlips": noSums, "CoveredData": noSums,
		},
	})
}

// testGraph has attributes of all kinds, and a subgraph.
func testGraph(weight string) *schema.Graph {
	inner := &schema.Graph{Name: "body", Inputs: []schema.ValueInfo{}, Outputs: []schema.ValueInfo{{Name: "o"}}, Nodes: []schema.Node{{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"o"}}}}
	inner.Inputs = nil
	view, err := tensor.FromBytes("t", tensor.Int16, tensor.Shape{2}, []byte{1, 2, 3, 4})
	if err != nil {
		panic(err)
	}
	return &schema.Graph{
		Name:    "main",
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: schema.DynamicDim, Symbol: "batch"}, {Size: 3}, {Size: schema.DynamicDim}}}},
		Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float16, Dims: []schema.Dim{}}, {Name: "z"}},
		Nodes: []schema.Node{
			{Name: "first", Op: "MatMul", Inputs: []string{"x", weight}, Outputs: []string{"h"}},
			{Op: "Any", Domain: "org.example", Inputs: []string{"h", ""}, Outputs: []string{"y"}, Attributes: []schema.Attribute{
				{Name: "i", Value: int64(0)}, {Name: "f", Value: float32(0)}, {Name: "s", Value: ""}, {Name: "bytes", Value: "\xff\x00"},
				{Name: "is", Value: []int64{-1, 1 << 40}}, {Name: "fs", Value: []float32{0.5}}, {Name: "ss", Value: []string{"a", ""}},
				{Name: "none", Value: []int64{}}, {Name: "t", Value: view}, {Name: "ts", Value: []tensor.View{view}}, {Name: "g", Value: inner}, {Name: "gs", Value: []*schema.Graph{inner}},
			}},
			{Op: "Relu", Inputs: []string{"y"}, Outputs: []string{"z"}},
		},
	}
}

// FuzzOpen opens, verifies and decodes whatever comes, and writes it again: errors are
// *tensor.Error, both ways of reading agree, nothing panics, and a copy has what only the format
// can say.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	f.Add(typed)
	f.Add(attributed(ld(6, weight("w"), str(2, "sub")), ld(5, num(1, 2), num(2, 8), str(6, "a"), str(6, "")), num(20, 5)))
	for _, c := range nativeCases() {
		f.Add(c.model)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := openBytes(b, nil)
		r, rerr := openReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("bytes: %v, reader: %v", err, rerr)
		}
		if err != nil {
			var e *tensor.Error
			if !errors.As(err, &e) || e.Format != formatName || e.Field == "" || e.Offset < 0 {
				t.Fatalf("%+v", err)
			}
			return
		}
		defer m.Close()
		defer r.Close()
		formattest.Walk(m.Model)
		p, err := m.Schema()
		if err != nil {
			return // external data of a tensor in the graph that is not there
		}
		var out bytes.Buffer
		w, err := streamTo(&out, p, nil)
		if err != nil {
			if detect(b[:min(len(b), driver.SniffLen)], int64(len(b))) && len(m.OperatorSets()) > 0 {
				t.Fatalf("a copy is refused: %v", err)
			}
			return
		}
		defer w.Abort()
		if w.WriteModel(m.Model) != nil || w.Close() != nil {
			return // values that do not fit, external data that is not there
		}
		again, err := openBytes(out.Bytes(), nil)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		copied, err := again.Schema()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Docs, copied.Docs); diff != "" {
			t.Fatalf("a copy has other docs: %s", diff)
		}
		n, err := again.Native()
		if diff := cmp.Diff(p.Native.Kinds, n.Kinds); err != nil || diff != "" {
			t.Fatalf("%v: a copy has other kinds: %s", err, diff)
		}
		again.Close()
	})
}
