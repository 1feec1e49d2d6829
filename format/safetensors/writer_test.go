package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// source is a tensor to write.
type source struct {
	info tensor.Info
	data []byte
}

// write returns a file with tensors written in the given order.
func write(t testing.TB, meta format.Metadata, o *format.WriteOptions, tensors ...source) []byte {
	t.Helper()
	p := &format.Plan{Metadata: meta}
	for _, s := range tensors {
		p.Tensors = append(p.Tensors, s.info)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range tensors {
		if err := w.WriteTensor(s.info.Name, bytes.NewReader(s.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func info(name string, d tensor.DType, shape ...int64) tensor.Info {
	return tensor.Info{Name: name, DType: d, Shape: shape}
}

func floats(values ...float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, values)
	return b
}

// TestReference runs the tests of the reference implementation and expects the same bytes.
func TestReference(t *testing.T) {
	six := floats(0, 1, 2, 3, 4, 5)
	tests := []struct {
		name    string
		meta    format.Metadata
		tensors []source
		want    []byte
	}{
		{"a header of 64 bytes", nil, []source{{info("attn.0", tensor.Float32, 1, 2, 3), six}},
			fileOf(`{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}`, six...)},
		{"a header that is padded", nil, []source{{info("attn0", tensor.Float32, 1, 1, 2, 3), six}},
			fileOf(`{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       `, six...)},
		{"nothing", nil, nil, []byte{8, 0, 0, 0, 0, 0, 0, 0, '{', '}', ' ', ' ', ' ', ' ', ' ', ' '}},
		{"metadata alone", format.Metadata{{Key: "framework", Value: "pt"}}, nil, fileOf(`{"__metadata__":{"framework":"pt"}}     `)},
		{"four bits", nil, []source{{tensor.Info{Name: "attn.0", Shape: tensor.Shape{1, 2}, Encoding: &tensor.Encoding{Name: "F4", BlockElems: 2, BlockBytes: 1}}, []byte{0}}},
			fileOf(`{"attn.0":{"dtype":"F4","shape":[1,2],"data_offsets":[0,1]}}    `, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, write(t, tt.meta, nil, tt.tensors...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOrder checks that data is ordered by dtype and name whatever the plan's order, that it is
// aligned, and that the header follows the data.
func TestOrder(t *testing.T) {
	var sources []source
	var want []string
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range slices.Backward(dtypes[:]) {
		if d.dtype == tensor.Invalid {
			continue
		}
		for _, name := range []string{"B", "a", "b", "é"} {
			sources = append(sources, source{info(d.name+name, d.dtype, 1), count(int(d.dtype.Size()))})
			want = append(want, d.name+name)
		}
	}
	var first []byte
	for range 3 {
		r.Shuffle(len(sources), func(i, j int) { sources[i], sources[j] = sources[j], sources[i] })
		b := write(t, nil, nil, sources...)
		if first == nil {
			first = b
		}
		if !bytes.Equal(first, b) {
			t.Fatal("the order of the plan shows")
		}
	}
	f := open(t, first)
	var got []string
	at := int64(0)
	for name, v := range f.Tensors() {
		got = append(got, name)
		if off := v.Info().Offset; off < at || off%v.Info().Size != 0 {
			t.Errorf("%s is at %d, behind %d", name, off, at)
		}
		at = v.Info().Offset
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(f.Notes()) > 0 {
		t.Errorf("notes: %q", f.Notes())
	}
}

// TestStrings checks that strings are escaped as in the reference implementation.
func TestStrings(t *testing.T) {
	b := write(t, format.Metadata{{Key: "\"\\/\b\f\n\r\t", Value: "\x00\x01\x1f\x7f<é\u2028😀"}}, nil, source{info("\"é", tensor.Uint8), []byte{1}})
	want := `{"__metadata__":{"\"\\/\b\f\n\r\t":"\u0000\u0001\u001f` + "\x7f<é\u2028😀" + `"},"\"é":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`
	want += strings.Repeat(" ", (8-len(want)%8)%8)
	if diff := cmp.Diff(fileOf(want, 1), b); diff != "" {
		t.Error(diff)
	}
	if m := open(t, b).Metadata(); m[0].Key != "\"\\/\b\f\n\r\t" || m[0].Value != "\x00\x01\x1f\x7f<é\u2028😀" {
		t.Errorf("read back: %q", m)
	}
}

func TestLosses(t *testing.T) {
	p := &format.Plan{
		Metadata: format.Metadata{
			{Key: "s", Value: "text"}, {Key: "b", Value: true}, {Key: "i", Value: int64(-5)}, {Key: "f", Value: 0.25}, {Key: "inf", Value: math.Inf(1)},
			{Key: "n", Value: nil}, {Key: "num", Value: json.Number("1.50")}, {Key: "raw", Value: json.RawMessage(`{"a": [1]}`)},
			{Key: "s", Value: "again"}, {Key: "bad", Value: "\xff"}, {Key: "type", Value: 1i},
		},
		Tensors: []tensor.Info{
			{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2}, Quant: &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}}},
			{Name: "__metadata__", DType: tensor.Int8, Shape: tensor.Shape{1}},
			{Name: "__metadata___", DType: tensor.Int8, Shape: tensor.Shape{1}},
		},
		Graph: &format.Graph{Name: "g", Nodes: []format.Node{{Op: "Relu"}}},
	}
	var out bytes.Buffer
	_, err := NewWriter(&out, p, nil)
	var refused *format.LossError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var items []string
	for _, l := range refused.Losses {
		items = append(items, l.Item())
	}
	want := []string{"quantization:q", "metadata:s", "metadata:bad", "metadata:type", "graph",
		`conversion:metadata "b"`, `conversion:metadata "i"`, `conversion:metadata "f"`, `conversion:metadata "inf"`, `conversion:metadata "n"`, `conversion:metadata "num"`, `conversion:metadata "raw"`,
		"name:__metadata__"}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Error(diff)
	}
	w, err := NewWriter(&out, p, &format.WriteOptions{AcceptLoss: []string{"quantization", "metadata", "graph", "conversion", "name"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Tensors {
		if err := w.WriteTensor(s.Name, bytes.NewReader(make([]byte, s.Shape[0]))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, out.Bytes())
	meta := format.Metadata{{Key: "s", Value: "text"}, {Key: "b", Value: "true"}, {Key: "i", Value: "-5"}, {Key: "f", Value: "0.25"}, {Key: "inf", Value: "+Inf"},
		{Key: "n", Value: "null"}, {Key: "num", Value: "1.50"}, {Key: "raw", Value: `{"a": [1]}`}}
	// Entries that repeat a key are dropped.
	if diff := cmp.Diff(meta, f.Metadata()); diff != "" {
		t.Error(diff)
	}
	var names []string
	for name := range f.Tensors() {
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"__metadata___", "__metadata____", "q"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestRefusesDTypes(t *testing.T) {
	for _, e := range []*tensor.Encoding{{Name: "Q4_0", BlockElems: 32, BlockBytes: 18}, {Name: "F32", BlockElems: 1, BlockBytes: 4}} {
		_, err := NewWriter(&bytes.Buffer{}, &format.Plan{Tensors: []tensor.Info{{Name: "w", Shape: tensor.Shape{32}, Encoding: e}}}, nil)
		var l *format.LossError
		if !errors.As(err, &l) || l.Losses[0].Kind != format.LossDType {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// TestHeaderTooLarge checks that a header over the limit is not written.
func TestHeaderTooLarge(t *testing.T) {
	_, err := NewWriter(&bytes.Buffer{}, &format.Plan{Metadata: format.Metadata{{Key: "k", Value: strings.Repeat("x", maxHeader)}}}, nil)
	if !errors.Is(err, format.ErrPlan) || !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v", err)
	}
}
