package mle

import (
	"bytes"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// TestLayout checks the bytes of a written file, without the reader.
func TestLayout(t *testing.T) {
	p := &schema.Schema{
		Metadata: schema.Metadata{{Key: "a", Value: int64(1)}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}, {Name: "h", DType: tensor.Float16, Shape: tensor.Shape{3}},
		},
		Graph: &schema.Graph{
			Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Int32, Dims: []schema.Dim{{Symbol: "batch"}, {Size: 3}}}},
			Nodes:  []schema.Node{{Op: "Linear", Inputs: []string{"x", "w", "h"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "k", Value: int64(2)}}}},
		},
	}
	want := &gFile{
		version: 2, flags: 0x80, headerSize: 144, metadata: `{"a":1,"tensor_names":["x","w","h","y"]}`,
		inputs:  []uint32{0},
		tensors: []gTensor{{0, 0, []uint32{math.MaxUint32, 3}, 3}, {0, 24, []uint32{2, 3}, 0}, {64, 6, []uint32{3}, 1}, {0, 0, nil, 255}},
		nodes:   []gNode{{1, []uint32{0}, []uint32{3}, []uint32{1, 2}, 144 + 4*56 + 208, 7}}, attributes: `{"k":2}`,
		weights: slices.Concat(formattest.Fill(p.Tensors[0]), make([]byte, 40), formattest.Fill(p.Tensors[1])),
		aligned: true,
	}
	o := &format.WriteOptions{AcceptLoss: []string{"label"}} // the symbol of a dim
	for _, want.headerSize = range []int{144, 128} {
		if diff := cmp.Diff(want.build(), written(t, p, o)); diff != "" {
			t.Errorf("header of %d bytes: %s", want.headerSize, diff)
		}
		o.Format = Format{HeaderSize: 128}
	}
	b := written(t, mixedSchema(), &format.WriteOptions{Format: Format{Version: 1}})
	if le.Uint32(b[4:]) != 1 || le.Uint64(b[8:]) != 72 || le.Uint64(b[56:]) != 0 || le.Uint64(b[64:]) != 0 {
		t.Errorf("header of version 1: % x", b[:72])
	}
}

// one returns a schema with one tensor.
func one(d tensor.DType, shape ...int64) *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{{Name: "t", DType: d, Shape: shape}}}
}

func graphOf(n schema.Node) *schema.Schema {
	p := one(tensor.Float32, 1)
	p.Graph = &schema.Graph{Nodes: []schema.Node{n}}
	return p
}

func metaOf(v any) *schema.Schema {
	return &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: v}}}
}

func TestWriterRefuses(t *testing.T) {
	seventeen := slices.Repeat([]string{"v"}, 17)
	attr := func(v any) *schema.Schema {
		return graphOf(schema.Node{Op: "Add", Attributes: []schema.Attribute{{Name: "a", Value: v}}})
	}
	tests := []struct {
		name   string
		schema *schema.Schema
		o      *format.WriteOptions
		want   error
	}{
		{"float64", one(tensor.Float64, 2), nil, format.ErrUnsupported},
		{"no elements", one(tensor.Float32, 0), nil, format.ErrUnsupported},
		{"rank 9", one(tensor.Float32, 1, 1, 1, 1, 1, 1, 1, 1, 1), nil, format.ErrUnsupported},
		{"short key", one(tensor.Float32, 1), &format.WriteOptions{Key: testKey[:16]}, format.ErrKey},
		{"another kind of signer", one(tensor.Float32, 1), &format.WriteOptions{Signer: new(rsa.PrivateKey)}, format.ErrKey},
		{"short signer", one(tensor.Float32, 1), &format.WriteOptions{Signer: testSigner[:32]}, format.ErrKey},
		{"float16 of halves", one(tensor.Float16, 1), &format.WriteOptions{Format: Format{Lossy: MethodFloat16}}, format.ErrUnsupported},
		{"lz4 beyond one block", one(tensor.Float32, 1<<29), &format.WriteOptions{Compression: "lz4"}, format.ErrLimit},
		{"encrypted beyond the cipher", one(tensor.Float32, 1<<31, 1<<5), &format.WriteOptions{Key: testKey}, format.ErrLimit},
		{"beyond any file", one(tensor.Float32, 1<<31, 1<<29), nil, format.ErrLimit},
		{"unknown operator", graphOf(schema.Node{Op: "Gemm"}), nil, format.ErrUnsupported},
		{"operator with a leading 0", graphOf(schema.Node{Op: "07"}), nil, format.ErrUnsupported},
		{"operator with the code of another", graphOf(schema.Node{Op: "1"}), nil, format.ErrUnsupported},
		{"operator beyond 16 bits", graphOf(schema.Node{Op: "65536"}), nil, format.ErrUnsupported},
		{"17 inputs", graphOf(schema.Node{Op: "Add", Inputs: seventeen}), nil, format.ErrLimit},
		{"empty value name", graphOf(schema.Node{Op: "Add", Inputs: []string{""}}), nil, format.ErrSchema},
		{"attribute NaN", attr(math.NaN()), nil, format.ErrUnsupported},
		{"attribute of another type", attr(struct{}{}), nil, format.ErrUnsupported},
		{"metadata twice", &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: true}, {Key: "a", Value: true}}}, nil, format.ErrCorrupt},
		{"metadata key with NUL", &schema.Schema{Metadata: schema.Metadata{{Key: "a\x00", Value: true}}}, nil, format.ErrCorrupt},
		{"metadata 1,001 deep", metaOf(json.RawMessage(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))), nil, format.ErrCorrupt},
		{"metadata of broken JSON", metaOf(json.RawMessage(`}`)), nil, format.ErrUnsupported},
		{"IR without the tensor", one(tensor.Float32, 1), &format.WriteOptions{Format: Format{IR: &IR{}}}, format.ErrCorrupt},
		{"IR of another tensor", &schema.Schema{}, &format.WriteOptions{Format: Format{IR: &IR{Tensors: []Descriptor{{Name: "t", Size: 4, DType: tensor.Float32}}}}}, format.ErrCorrupt},
		{"IR with a name twice", &schema.Schema{}, &format.WriteOptions{Format: Format{IR: &IR{Tensors: []Descriptor{{Name: "t"}, {Name: "t"}}}}}, format.ErrCorrupt},
		{"IR with an operator of version 1", &schema.Schema{}, &format.WriteOptions{Format: Format{IR: &IR{Nodes: []IRNode{{Op: onlyV1 + 15}}}}}, format.ErrUnsupported},
		{"IR with 17 ids", &schema.Schema{}, &format.WriteOptions{Format: Format{IR: &IR{Nodes: []IRNode{{Params: make([]uint32, 17)}}}}}, format.ErrLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newWriter(io.Discard, tt.schema, tt.o)
			if !errors.Is(err, tt.want) || !errors.Is(err, format.ErrSchema) {
				t.Errorf("%v, want ErrSchema and %v", err, tt.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "mle: ") {
				t.Errorf("%v: begins with something else than the format", err)
			}
		})
	}
	o := &format.WriteOptions{Spool: format.SpoolNever}
	expect.Refused(t, format.ErrUnsupported, "streaming version 2")(newWriter(io.Discard, one(tensor.Float32, 1), o))
}

// TestLossyRefusesValues checks that a value that an integer or half cannot represent is an
// error.
func TestLossyRefusesValues(t *testing.T) {
	for _, tt := range []struct {
		f     Format
		value float32
	}{
		{Format{Quantized: true}, float32(math.NaN())}, {Format{Quantized: true}, float32(math.Inf(-1))},
		{Format{Lossy: MethodInt8}, float32(math.NaN())}, {Format{Lossy: MethodInt8, Chunked: true}, float32(math.Inf(1))},
		{Format{Lossy: MethodFloat16}, 1e5}, {Format{Lossy: MethodFloat16, Chunked: true}, -70000},
	} {
		w, err := newWriter(io.Discard, one(tensor.Float32, 2), &format.WriteOptions{Format: tt.f})
		expect.OK(t, err)
		defer w.Abort()
		err = w.WriteTensor("t", bytes.NewReader(floats(1, tt.value)))
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, format.ErrQuantization) {
			t.Errorf("%v %v: %v, want ErrQuantization", tt.f, tt.value, err)
		}
	}
}

// TestIRIsKept checks that a file written with the IR of another has the same graph, ids,
// placeholders and attributes.
func TestIRIsKept(t *testing.T) {
	g := plainGolden()
	g.nodes = append(g.nodes, gNode{op: 999, inputs: []uint32{3, 77}, outputs: []uint32{88}, params: []uint32{1, 1}})
	g.nodes[0].attrOffset += 208
	g.tensors[3].dtype, g.tensors[3].offset = 9, 1<<63+5
	f := mustOpen(t, g.build(), nil)
	b, err := rewritten(t, f, 2, true)
	expect.OK(t, err)
	again := mustOpen(t, b, nil)
	expect.Equal(t, f.IR(), again.IR(), equateEmpty)
	expect.Equal(t, expect.Got(t, f.Metadata), expect.Got(t, again.Metadata))
}

// TestAttributeTypes checks the Go types of attributes after writing and reading.
func TestAttributeTypes(t *testing.T) {
	tests := []struct{ write, read any }{
		{int64(-5), nil}, {1.5, nil}, {1.0, nil}, {1e300, nil}, {-0.0001, nil}, {true, nil}, {"t\"<\n", nil}, {[]int64{1, -2}, nil},
		{[]float64{1, 2.5}, nil}, {[]string{"", "b"}, nil}, {json.RawMessage(`{"x": [1]}`), nil},
		{json.RawMessage(`[1,2.5]`), nil}, {json.RawMessage(`[]`), nil}, {json.RawMessage("null"), nil}, {nil, json.RawMessage("null")},
		{float32(0.1), 0.1}, {[]int32{3}, []int64{3}}, {[]float32{0.1, 2}, []float64{0.1, 2}}, {[]int64{}, json.RawMessage(`[]`)},
		{json.RawMessage("1.50"), nil}, {json.RawMessage("12345678901234567890"), nil},
	}
	for _, tt := range tests {
		want := tt.read
		if want == nil {
			want = tt.write
		}
		raw, err := jsonmeta.Marshal(schema.Metadata{{Key: "a", Value: tt.write}}, jsonOptions)
		if err != nil {
			t.Errorf("%v: %v", tt.write, err)
			continue
		}
		entries, err := jsonmeta.Parse(raw, jsonOptions)
		got := attributeValue(entries[0].Value)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", raw, err, diff)
		}
		again, err := jsonmeta.Marshal(schema.Metadata{{Key: "a", Value: got}}, jsonOptions)
		if diff := cmp.Diff(string(raw), string(again)); err != nil || diff != "" {
			t.Errorf("written again: %v %s", err, diff)
		}
	}
}

// TestSharedAttributesOnce checks that attributes shared by many nodes cost the work and
// memory of one object when reading, writing and listing losses.
func TestSharedAttributesOnce(t *testing.T) {
	const nodes, size = 1000, 128 << 10
	attributes := []schema.Attribute{{Name: "a", Value: strings.Repeat("x", size)}}
	s := &schema.Schema{Graph: &schema.Graph{Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32}}}}
	for range nodes {
		s.Graph.Nodes = append(s.Graph.Nodes, schema.Node{Op: "ReLU", Inputs: []string{"x"}, Outputs: []string{"x"}, Attributes: attributes})
	}
	before := allocatedBytes()
	b := written(t, s, nil)
	f, err := openBytes(b, nil)
	expect.OK(t, err)
	defer f.Close()
	g, err := f.Graph()
	expect.OK(t, err)
	again := written(t, &schema.Schema{Graph: g, Metadata: expect.Got(t, f.Metadata)}, nil)
	if used := allocatedBytes() - before; used > 32<<20 {
		t.Errorf("%d bytes allocated", used)
	}
	if !bytes.Equal(b, again) {
		t.Error("a copy differs")
	}
	for i := range g.Nodes {
		if diff := cmp.Diff(attributes, g.Nodes[i].Attributes); diff != "" {
			t.Fatalf("node %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestNoTensors checks that every method and feature supports a model without weights.
func TestNoTensors(t *testing.T) {
	all := []*format.WriteOptions{nil, {Key: testKey, Signer: testSigner}}
	for _, m := range lossless {
		all = append(all,
			&format.WriteOptions{Compression: m.Name()},
			&format.WriteOptions{Compression: m.Name(), Format: Format{Chunked: true}},
			&format.WriteOptions{Compression: m.Name(), Key: testKey, Signer: testSigner})
	}
	for _, m := range []Method{MethodInt8, MethodFloat16} {
		all = append(all,
			&format.WriteOptions{Format: Format{Lossy: m}},
			&format.WriteOptions{Format: Format{Lossy: m, Chunked: true}},
			&format.WriteOptions{Format: Format{Lossy: m}, Key: testKey, Signer: testSigner})
	}
	for _, o := range all {
		f := mustOpen(t, written(t, &schema.Schema{}, o), &format.Options{Key: testKey})
		if err := verify(f); err != nil || f.Len() != 0 {
			t.Errorf("%v: %v", o, err)
		}
	}
}

// TestOptions checks that options that MLE lacks, and those that exclude each other, are refused by name.
func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		o     format.WriteOptions
		field string // "" for options that are accepted
	}{
		{"a lossy method", format.WriteOptions{Format: Format{Lossy: MethodInt8}}, ""},
		{"a lossy method and a compression", format.WriteOptions{Compression: "zstd", Format: Format{Lossy: MethodInt8}}, "Lossy"},
		{"a lossless method as Lossy", format.WriteOptions{Format: Format{Lossy: MethodZstd}}, "Lossy"},
		{"an unknown method as Lossy", format.WriteOptions{Format: Format{Lossy: 77}}, "Lossy"},
		{"quantized as int8", format.WriteOptions{Format: Format{Quantized: true, Lossy: MethodInt8}}, ""},
		{"quantized and compressed", format.WriteOptions{Compression: "lz4", Format: Format{Quantized: true}}, "Quantized"},
		{"quantized as float16", format.WriteOptions{Format: Format{Quantized: true, Lossy: MethodFloat16}}, "Quantized"},
		{"a method of other formats", format.WriteOptions{Compression: "gzip"}, "Compression"},
		{"a lossy method as Compression", format.WriteOptions{Compression: "int8"}, "Compression"},
		{"a level without compression", format.WriteOptions{Level: 3}, "Level"},
		{"level 10", format.WriteOptions{Compression: "zstd", Level: 10}, "Level"},
		{"version 3", format.WriteOptions{Format: Format{Version: 3}}, "Version"},
		{"version 1 with compression", format.WriteOptions{Compression: "zstd", Format: Format{Version: 1}}, "Version"},
		{"version 1 with a header size", format.WriteOptions{Format: Format{Version: 1, HeaderSize: 144}}, "HeaderSize"},
		{"a header of 100", format.WriteOptions{Format: Format{HeaderSize: 100}}, "HeaderSize"},
		{"chunks of nothing", format.WriteOptions{Format: Format{Chunked: true}}, "Chunked"},
		{"a negative chunk", format.WriteOptions{Compression: "lz4", Format: Format{Chunked: true, ChunkSize: -1}}, "ChunkSize"},
		{"the alignment that it has", format.WriteOptions{Align: 64}, ""},
		{"more alignment", format.WriteOptions{Align: 128}, "Align"},
		{"extensions", format.WriteOptions{Extended: true}, "Extended"},
		{"external data", format.WriteOptions{ExternalFrom: 1}, "ExternalFrom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := newWriter(io.Discard, &schema.Schema{}, &tt.o)
			if tt.field == "" {
				expect.OK(t, err)
				w.Abort()
				return
			}
			var e *tensor.Error
			if !errors.Is(err, format.ErrOption) || !errors.As(err, &e) || e.Field != tt.field || e.Format != "mle" {
				t.Errorf("%v, want ErrOption for %s", err, tt.field)
			}
		})
	}
}

// TestLosses checks the losses of values that descriptors cannot hold, and of metadata
// with the key of the tensor names.
func TestLosses(t *testing.T) {
	input := func(v schema.ValueInfo) *schema.Schema {
		return &schema.Schema{
			Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2}}},
			Graph:   &schema.Graph{Inputs: []schema.ValueInfo{v}},
		}
	}
	names := func(v any) *schema.Schema {
		p := input(schema.ValueInfo{Name: "x"})
		p.Metadata = schema.Metadata{{Key: "tensor_names", Value: v}}
		return p
	}
	for _, c := range []struct {
		name   string
		schema *schema.Schema
		want   []string
	}{
		{"nothing known", input(schema.ValueInfo{Name: "x"}), nil},
		{"dtype", input(schema.ValueInfo{Name: "x", DType: tensor.Float64}), []string{"value:x"}},
		{"code", input(schema.ValueInfo{Name: "x", Code: "77"}), []string{"value:x"}},
		{"scalar", input(schema.ValueInfo{Name: "x", Dims: []schema.Dim{}}), []string{"value:x"}},
		{"the dim that means any", input(schema.ValueInfo{Name: "x", Dims: schema.FixedDims(math.MaxUint32)}), []string{"value:x"}},
		{"symbol", input(schema.ValueInfo{Name: "x", Dims: []schema.Dim{{Size: schema.DynamicDim, Symbol: "n"}}}), []string{"label:x dim 0 (n)"}},
		{"large dim", input(schema.ValueInfo{Name: "x", Dims: schema.FixedDims(1 << 32)}), []string{"graph:inputs[0] (x)"}},
		{"tensor as it is", input(schema.ValueInfo{Name: "w", DType: tensor.Float32, Dims: schema.FixedDims(2)}), nil},
		{"tensor of another dtype", input(schema.ValueInfo{Name: "w", DType: tensor.Int8}), []string{"value:w"}},
		{"names", names(json.RawMessage(`["v","w","x"]`)), nil},
		{"names of others", names(json.RawMessage(`["v"]`)), []string{"metadata:tensor_names"}},
		{"names that are none", names(json.RawMessage(`["w",1]`)), []string{"metadata:tensor_names"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := newWriter(io.Discard, c.schema, nil)
			var items []string
			var lost *schema.LossError
			if errors.As(err, &lost) {
				for _, l := range lost.Losses {
					items = append(items, l.Item())
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				w.Abort()
			}
			expect.Equal(t, c.want, items, cmpopts.EquateEmpty())
		})
	}
}
