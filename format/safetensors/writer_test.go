package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// write returns the file of a schema.
func write(t testing.TB, p *schema.Schema, o *format.WriteOptions, data map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter(&out, p, o)
	expect.OK(t, err)
	for _, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(data[info.Name])))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// TestWrittenBytes checks that a file is what the reference implementation writes: ordered by dtype and
// name whatever the schema's order, padded, and with strings escaped as little as possible.
func TestWrittenBytes(t *testing.T) {
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "\"\\/\b\f\n\r\t", Value: "\x00\x1f\x7f<é\u2028😀"}}, Tensors: []tensor.Info{
		{Name: "b", DType: tensor.Uint8, Shape: tensor.Shape{2}}, {Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{1}}, {Name: "w", DType: tensor.Float32, Shape: tensor.Shape{1}},
		{Name: "q", Shape: tensor.Shape{1, 2}, Encoding: &tensor.Encoding{Name: "F4", BlockElems: 2, BlockBytes: 1}}, {Name: "i\"", DType: tensor.Int64},
	}}
	got := write(t, p, nil, map[string][]byte{"i\"": count(8), "w": []byte("\x00\x00\x80\x3f"), "a": {3}, "b": {1, 2}, "q": {4}})
	want := `{"__metadata__":{"\"\\/\b\f\n\r\t":"\u0000\u001f` + "\x7f<é\u2028😀" + `"},"i\"":{"dtype":"I64","shape":[],"data_offsets":[0,8]},` +
		`"w":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"a":{"dtype":"U8","shape":[1],"data_offsets":[12,13]},` +
		`"b":{"dtype":"U8","shape":[2],"data_offsets":[13,15]},"q":{"dtype":"F4","shape":[1,2],"data_offsets":[15,16]}}`
	want += strings.Repeat(" ", -len(want)&7)
	expect.Equal(t, string(fileOf(want, []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x80\x3f\x03\x01\x02\x04")...)), string(got))
	expect.Equal(t, "\b\x00\x00\x00\x00\x00\x00\x00{}      ", string(write(t, &schema.Schema{}, nil, nil)))
}

func TestLosses(t *testing.T) {
	p := &schema.Schema{
		Metadata: schema.Metadata{
			{Key: "s", Value: "text"}, {Key: "b", Value: true}, {Key: "i", Value: int64(-5)}, {Key: "f", Value: 0.25}, {Key: "inf", Value: math.Inf(1)},
			{Key: "n", Value: nil}, {Key: "num", Value: json.Number("1.50")}, {Key: "raw", Value: json.RawMessage(`{"a": [1]}`)},
			{Key: "s", Value: "again"}, {Key: "bad", Value: "\xff"}, {Key: "type", Value: 1i},
		},
		Tensors: []tensor.Info{
			{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2}, Quant: &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}}},
			{Name: "__metadata__", DType: tensor.Int8, Shape: tensor.Shape{1}},
			{Name: "__metadata___", DType: tensor.Int8, Shape: tensor.Shape{1}},
			{Name: "blocks", Shape: tensor.Shape{32}, Encoding: &tensor.Encoding{Name: "Q4_0", BlockElems: 32, BlockBytes: 18}},
			{Name: "other", Shape: tensor.Shape{32}, Encoding: &tensor.Encoding{Name: "F32", BlockElems: 1, BlockBytes: 4}},
		},
		Graph: &schema.Graph{Name: "g", Nodes: []schema.Node{{Op: "Relu"}}},
	}
	_, err := newWriter(&bytes.Buffer{}, p, nil)
	var refused *schema.LossError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var items []string
	for _, l := range refused.Losses {
		items = append(items, l.Item())
	}
	want := []string{"quantization:q", "metadata:s", "metadata:bad", "metadata:type", "graph",
		"name:__metadata__", "dtype:blocks", "dtype:other"}
	expect.Equal(t, want, items)
	p.Tensors = p.Tensors[:3] // dtypes cannot be let go
	f := open(t, write(t, p, &format.WriteOptions{AcceptLoss: []string{"quantization", "metadata", "graph", "conversion", "name"}},
		map[string][]byte{"q": {0, 0}, "__metadata__": {0}, "__metadata___": {0}}))
	meta := schema.Metadata{{Key: "s", Value: "text"}, {Key: "b", Value: "true"}, {Key: "i", Value: "-5"}, {Key: "f", Value: "0.25"}, {Key: "inf", Value: "+Inf"},
		{Key: "n", Value: "null"}, {Key: "num", Value: "1.50"}, {Key: "raw", Value: `{"a": [1]}`},
		{Key: "weightmap.types", Value: `{"b":"bool","i":"int64","f":"float64","inf":"float64","n":"null","num":"number","raw":"json"}`}}
	// Entries that repeat a key are dropped.
	expect.Equal(t, meta, expect.Got(t, f.Metadata))
	for i, name := range []string{"__metadata___", "__metadata____", "q"} {
		expect.Equal(t, name, f.At(i).Name())
	}
}

// TestHeaderTooLarge checks that a header over the limit is not written.
func TestHeaderTooLarge(t *testing.T) {
	_, err := newWriter(&bytes.Buffer{}, &schema.Schema{Metadata: schema.Metadata{{Key: "k", Value: strings.Repeat("x", maxHeader)}}}, nil)
	if !errors.Is(err, format.ErrSchema) || !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v", err)
	}
}
