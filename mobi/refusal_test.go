package mobi

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// one returns a schema with an int8 constant 1 and a graph of one operator with the
// input "x" and the output "y", after change.
func one(change func(p *schema.Schema, node *schema.Node)) *schema.Schema {
	p := &schema.Schema{
		Tensors: []tensor.Info{{Name: "1", DType: tensor.Int8, Shape: tensor.Shape{2, 3}}},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", Dims: []schema.Dim{}}},
			Outputs: []schema.ValueInfo{{Name: "y", Dims: []schema.Dim{}}},
			Nodes:   []schema.Node{{Op: "Add", Inputs: []string{"x", "1"}, Outputs: []string{"y"}}},
		},
	}
	change(p, &p.Graph.Nodes[0])
	return p
}

// refused is a schema that cannot be written, and part of the message.
type refused struct {
	schema *schema.Schema
	err    error
	text   string
}

// spoiled returns schemas that cannot be written, by their defect.
func spoiled() map[string]refused {
	tensors := func(infos ...tensor.Info) *schema.Schema { return &schema.Schema{Tensors: infos} }
	attr := func(name string, v any) *schema.Schema {
		return one(func(_ *schema.Schema, n *schema.Node) { n.Attributes = []schema.Attribute{{Name: name, Value: v}} })
	}
	meta := func(key string, v any) *schema.Schema {
		return &schema.Schema{Metadata: schema.Metadata{{Key: key, Value: v}}}
	}
	input := func(v schema.ValueInfo) *schema.Schema {
		return one(func(p *schema.Schema, _ *schema.Node) { p.Graph.Inputs[0] = v })
	}
	quant := func(q tensor.Quantization, change func(*schema.Schema, *schema.Node)) *schema.Schema {
		return one(func(p *schema.Schema, n *schema.Node) { p.Tensors[0].Quant = &q; change(p, n) })
	}
	as := func(*schema.Schema, *schema.Node) {}
	return map[string]refused{
		"name":                {tensors(tensor.Info{Name: "w", DType: tensor.Int8}), format.ErrUnsupported, `tensor "w"`},
		"name with zero":      {tensors(tensor.Info{Name: "01", DType: tensor.Int8}), format.ErrUnsupported, `tensor "01"`},
		"name beyond 32 bits": {tensors(tensor.Info{Name: "4294967296", DType: tensor.Int8}), format.ErrUnsupported, `tensor "4294967296"`},
		"dtype":               {tensors(tensor.Info{Name: "1", DType: tensor.Uint8}), format.ErrUnsupported, "uint8"},
		"rank":                {tensors(tensor.Info{Name: "1", DType: tensor.Int8, Shape: make(tensor.Shape, 65536)}), format.ErrLimit, "rank 65536"},
		"4 GiB":               {tensors(tensor.Info{Name: "1", DType: tensor.Int8, Shape: tensor.Shape{1 << 32}}), format.ErrLimit, "4294967295"},
		"2^61-1 bytes":        {tensors(tensor.Info{Name: "1", DType: tensor.Int8, Shape: tensor.Shape{math.MaxInt64 / 4}}), format.ErrLimit, "4294967295"},
		"metadata key":        {meta("author", "me"), format.ErrUnsupported, `metadata "author"`},
		"metadata twice":      {&schema.Schema{Metadata: schema.Metadata{{Key: "name", Value: "a"}, {Key: "name", Value: "a"}}}, format.ErrCorrupt, "twice"},
		"metadata name":       {meta("name", int64(1)), format.ErrUnsupported, "int64"},
		"metadata time":       {meta("creation_timestamp", json.Number("18446744073709551616")), format.ErrUnsupported, "64 bits"},

		"operator":          {one(func(_ *schema.Schema, n *schema.Node) { n.Op = "Gemm" }), format.ErrUnsupported, `"Gemm"`},
		"operator domain":   {one(func(_ *schema.Schema, n *schema.Node) { n.Domain = "ai.onnx" }), format.ErrUnsupported, "ai.onnx"},
		"edge without name": {one(func(_ *schema.Schema, n *schema.Node) { n.Inputs[1] = "" }), format.ErrUnsupported, "without a name"},
		"input unused": {one(func(p *schema.Schema, _ *schema.Node) {
			p.Graph.Inputs = append(p.Graph.Inputs, schema.ValueInfo{Name: "z", Dims: []schema.Dim{}})
		}), format.ErrUnsupported, `graph input "x"`},
		"input produced":    {one(func(_ *schema.Schema, n *schema.Node) { n.Outputs = append(n.Outputs, "x") }), format.ErrUnsupported, `graph input "x"`},
		"input is a tensor": {one(func(p *schema.Schema, _ *schema.Node) { p.Graph.Inputs[0].Name = "1" }), format.ErrUnsupported, "same name"},
		"input twice":       {one(func(p *schema.Schema, _ *schema.Node) { p.Graph.Inputs = append(p.Graph.Inputs, p.Graph.Inputs[0]) }), format.ErrUnsupported, `graph input "x"`},
		"input dtype":       {input(schema.ValueInfo{Name: "x", DType: tensor.Int64, Dims: []schema.Dim{}}), format.ErrUnsupported, "int64"},
		"input dims":        {input(schema.ValueInfo{Name: "x"}), format.ErrUnsupported, "shape"},
		"input dim":         {input(schema.ValueInfo{Name: "x", Dims: schema.FixedDims(-2)}), format.ErrShape, "dim -2"},

		"attribute type":     {attr("a", []string{"b"}), format.ErrUnsupported, "list of string"},
		"attribute name len": {attr(strings.Repeat("a", 65536), true), format.ErrLimit, "65536"},
		"attribute twice": {one(func(_ *schema.Schema, n *schema.Node) {
			n.Attributes = []schema.Attribute{{Name: "a", Value: true}, {Name: "a", Value: true}}
		}), format.ErrCorrupt, "twice"},
		"65536 inputs": {one(func(_ *schema.Schema, n *schema.Node) {
			n.Inputs = append(n.Inputs, slices.Repeat([]string{"1"}, 65535)...)
		}), format.ErrLimit, "65537"},

		"quantized, unconsumed":  {quant(tensor.Quantization{Axis: -1, Scales: []float32{1}}, func(_ *schema.Schema, n *schema.Node) { n.Inputs = n.Inputs[:1] }), format.ErrUnsupported, "there are none"},
		"quantized, logarithmic": {quant(tensor.Quantization{Scheme: tensor.Logarithmic, Axis: -1, Scales: []float32{1}}, as), format.ErrUnsupported, "logarithmic"},
		"quantized, no scales":   {quant(tensor.Quantization{Axis: -1}, as), format.ErrQuantization, "do not fit"},
		"quantized floats":       {quant(tensor.Quantization{Axis: -1, Scales: []float32{1}}, func(p *schema.Schema, _ *schema.Node) { p.Tensors[0].DType = tensor.Float32 }), format.ErrQuantization, "do not fit"},
		"quantized otherwise": {quant(tensor.Quantization{Axis: -1, Scales: []float32{1}}, func(_ *schema.Schema, n *schema.Node) {
			n.Attributes = []schema.Attribute{{Name: "input1_scale", Value: float32(2)}}
		}), format.ErrQuantization, "differ"},
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range spoiled() {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := newWriter(&out, c.schema, inMemory(nil))
			var e *tensor.Error
			if !errors.Is(err, format.ErrSchema) || !errors.Is(err, c.err) || !errors.As(err, &e) || e.Format != "mobi" || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %v with %q", err, c.err, c.text)
			}
			if out.Len() > 0 {
				t.Errorf("%d bytes were written", out.Len())
			}
		})
	}
	if _, err := newWriter(&bytes.Buffer{}, one(func(*schema.Schema, *schema.Node) {}), inMemory(nil)); err != nil {
		t.Errorf("the schema they start from is refused: %v", err)
	}
}

func TestRefusedOptions(t *testing.T) {
	p := one(func(*schema.Schema, *schema.Node) {})
	for name, c := range map[string]struct {
		o     format.WriteOptions
		want  error
		field string
	}{
		"footer":      {format.WriteOptions{Format: Format{Footer: 2}}, format.ErrOption, "Footer"},
		"before 1970": {format.WriteOptions{Time: time.Unix(-1, 0)}, format.ErrSchema, "creation timestamp"},
		"zstd":        {format.WriteOptions{Compression: "zstd"}, format.ErrOption, "Compression"},
		"level 10":    {format.WriteOptions{Compression: "gzip", Level: 10}, format.ErrOption, "Level"},
		"level -1":    {format.WriteOptions{Compression: "gzip", Level: -1}, format.ErrOption, "Level"},
		"only level":  {format.WriteOptions{Level: 1}, format.ErrOption, "Level"},
		"key":         {format.WriteOptions{Key: make([]byte, 32)}, format.ErrOption, "Key"},
		"signer":      {format.WriteOptions{Signer: ed25519.NewKeyFromSeed(make([]byte, 32))}, format.ErrOption, "Signer"},
		"alignment":   {format.WriteOptions{Align: 64}, format.ErrOption, "Align"},
		"extensions":  {format.WriteOptions{Extended: true}, format.ErrOption, "Extended"},
		"external":    {format.WriteOptions{ExternalFrom: 1}, format.ErrOption, "ExternalFrom"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newWriter(&bytes.Buffer{}, p, inMemory(&c.o))
			var e *tensor.Error
			if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Field != c.field {
				t.Errorf("error %v, want %v of %s", err, c.want, c.field)
			}
		})
	}
	var out bytes.Buffer
	o := format.WriteOptions{Spool: format.SpoolNever, Compression: "gzip", Level: 1}
	if _, err := newWriter(&out, p, &o); !errors.Is(err, format.ErrSchema) || !errors.Is(err, format.ErrUnsupported) || out.Len() > 0 {
		t.Errorf("compressed without a spool: error %v after %d bytes", err, out.Len())
	}
}

// TestLargest checks that a file may have 2^32-1 bytes but not one more. It does not
// write the data.
func TestLargest(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("such a file does not fit in the address space")
	}
	const overhead = 32 + 24 + 48 + 24 + 4 + 4 // header, metadata, padding to 104, record header, operators, footer
	for extra := range int64(2) {
		p := &schema.Schema{Tensors: []tensor.Info{{Name: "1", DType: tensor.Int8, Shape: tensor.Shape{math.MaxUint32 - overhead + extra}}}}
		w, err := newWriter(&bytes.Buffer{}, p, inMemory(nil))
		if extra == 0 {
			expect.OK(t, err)
			w.Abort()
		} else if !errors.Is(err, format.ErrLimit) {
			t.Errorf("a file one byte larger: error %v", err)
		}
	}
}
