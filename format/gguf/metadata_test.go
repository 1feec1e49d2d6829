package gguf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// values has every type at its edges: what a file has, what all formats see of it,
// and what it is with its type.
var values = []struct {
	name    string
	typ     uint32
	value   []byte
	neutral any
	typed   any
}{
	{"uint8", 0, []byte{255}, int64(255), uint8(255)},
	{"int8", 1, []byte{0x80}, int64(-128), int8(-128)},
	{"uint16", 2, []byte{0xff, 0xff}, int64(65535), uint16(65535)},
	{"int16", 3, []byte{0, 0x80}, int64(-32768), int16(-32768)},
	{"uint32", 4, le32(math.MaxUint32), int64(math.MaxUint32), uint32(math.MaxUint32)},
	{"int32", 5, le32(1 << 31), int64(math.MinInt32), int32(math.MinInt32)},
	{"float32", 6, f32(0.1), float64(float32(0.1)), float32(0.1)},
	{"false", 7, []byte{0}, false, false},
	{"true", 7, []byte{1}, true, true},
	{"string", 8, str("a\"\\\n\x00 \u00fc"), "a\"\\\n\x00 \u00fc", "a\"\\\n\x00 \u00fc"},
	{"empty string", 8, str(""), "", ""},
	{"not UTF-8", 8, str("\xff"), "\xff", "\xff"},
	{"small uint64", 10, le64(math.MaxInt64), int64(math.MaxInt64), uint64(math.MaxInt64)},
	{"uint64", 10, le64(math.MaxUint64), json.Number("18446744073709551615"), uint64(math.MaxUint64)},
	{"int64", 11, le64(1 << 63), int64(math.MinInt64), Int64(math.MinInt64)},
	{"float64", 12, f64(0.1), 0.1, Float64(0.1)},
	{"infinity", 6, f32(float32(math.Inf(1))), math.Inf(1), float32(math.Inf(1))},
	{"uint8s", 9, arr(0, []byte{1}, []byte{200}), json.RawMessage("[1,200]"), []uint8{1, 200}},
	{"int8s", 9, arr(1, []byte{1}, []byte{200}), json.RawMessage("[1,-56]"), []int8{1, -56}},
	{"uint16s", 9, arr(2, []byte{1, 2}), json.RawMessage("[513]"), []uint16{513}},
	{"int16s", 9, arr(3, []byte{0xff, 0xff}), json.RawMessage("[-1]"), []int16{-1}},
	{"uint32s", 9, arr(4, le32(7), le32(math.MaxUint32)), json.RawMessage("[7,4294967295]"), []uint32{7, math.MaxUint32}},
	{"int32s", 9, arr(5, le32(7), le32(math.MaxUint32)), json.RawMessage("[7,-1]"), []int32{7, -1}},
	{"float32s", 9, arr(6, f32(1), f32(-0.5), f32(1e-6), f32(1e30)), json.RawMessage("[1.0,-0.5,9.999999974752427e-07,1.0000000150474662e+30]"), []float32{1, -0.5, 1e-6, 1e30}},
	{"odd floats", 9, arr(6, f32(float32(math.Inf(-1))), f32(float32(math.Copysign(0, -1)))), json.RawMessage(`["-Inf",-0.0]`), []float32{float32(math.Inf(-1)), float32(math.Copysign(0, -1))}},
	{"bools", 9, arr(7, []byte{0}, []byte{1}), json.RawMessage("[false,true]"), []bool{false, true}},
	{"strings", 9, arr(8, str("a"), str(""), str("\"\\\x01\n\u2581")), json.RawMessage("[\"a\",\"\",\"\\\"\\\\\\u0001\\n\u2581\"]"), []string{"a", "", "\"\\\x01\n\u2581"}},
	{"strings not UTF-8", 9, arr(8, str("a\xffb")), json.RawMessage("[\"a\ufffdb\"]"), []string{"a\xffb"}},
	{"uint64s", 9, arr(10, le64(math.MaxUint64)), json.RawMessage("[18446744073709551615]"), []uint64{math.MaxUint64}},
	{"int64s", 9, arr(11, le64(1<<63)), json.RawMessage("[-9223372036854775808]"), []int64{math.MinInt64}},
	{"float64s", 9, arr(12, f64(0.1), f64(3)), json.RawMessage("[0.1,3.0]"), []float64{0.1, 3}},
	{"empty array", 9, arr(6), json.RawMessage("[]"), []float32{}},
	{"empty arrays", 9, arr(9), json.RawMessage("[]"), []any{}},
	{"nested", 9, arr(9, arr(8, str("a")), arr(5, le32(1), le32(2)), arr(9, arr(7, []byte{1}))),
		json.RawMessage(`[["a"],[1,2],[[true]]]`), []any{[]string{"a"}, []int32{1, 2}, []any{[]bool{true}}}},
}

func TestMetadata(t *testing.T) {
	f := fields{magic: "GGUF", version: 3}
	var neutral, typed schema.Metadata
	for _, v := range values {
		f.entries = append(f.entries, kv{v.name, v.typ, v.value})
		neutral = append(neutral, schema.Entry{Key: v.name, Value: v.neutral})
		typed = append(typed, schema.Entry{Key: v.name, Value: v.typed})
	}
	m := open(t, f.bytes())
	expect.Equal(t, neutral, expect.Got(t, m.Metadata))
	expect.Equal(t, typed, expect.Got(t, m.Typed))
	if b, err := json.Marshal(expect.Got(t, m.Metadata)); err != nil || !json.Valid(b) {
		t.Errorf("%s, %v", b, err)
	}
	// Typed values write the file again.
	expect.Equal(t, f.bytes(), write(t, &schema.Schema{Metadata: typed}, nil, nil))
	m.Close()
	expect.Refused(t, format.ErrClosed, "Typed after Close")(m.Typed())
	expect.Refused(t, format.ErrClosed, "Metadata after Close")(m.Metadata())
}

// TestMetadataTypes says which type values get that name none.
func TestMetadataTypes(t *testing.T) {
	for _, c := range []struct {
		value any
		want  any
	}{
		{int64(0), uint32(0)},
		{int64(math.MaxUint32), uint32(math.MaxUint32)},
		{int64(math.MaxUint32 + 1), Int64(math.MaxUint32 + 1)},
		{int64(-1), int32(-1)},
		{int64(math.MinInt32 - 1), Int64(math.MinInt32 - 1)},
		{0.5, float32(0.5)},
		{0.1, Float64(0.1)},
		{1e300, Float64(1e300)},
		{json.Number("7"), uint32(7)},
		{json.Number("18446744073709551615"), uint64(math.MaxUint64)},
		{json.Number("0.1"), Float64(0.1)},
		{"s", "s"},
		{true, true},
		{json.RawMessage(` [ 1 , -2 ] `), []int32{1, -2}},
		{json.RawMessage(`[1, 4294967295]`), []int64{1, math.MaxUint32}},
		{json.RawMessage(`[1, 18446744073709551615]`), []uint64{1, math.MaxUint64}},
		{json.RawMessage(`[1.0, 2]`), []float32{1, 2}},
		{json.RawMessage(`[0.1, 2]`), []float64{0.1, 2}},
		{json.RawMessage(`["\u00fc"]`), []string{"\u00fc"}},
		{json.RawMessage(`[true]`), []bool{true}},
		{json.RawMessage(`[]`), []int32{}},
		{json.RawMessage(`[[1],["a"],[]]`), []any{[]int32{1}, []string{"a"}, []int32{}}},
		{json.RawMessage(`5`), uint32(5)},
	} {
		m := open(t, write(t, &schema.Schema{Metadata: schema.Metadata{{Key: "k", Value: c.value}}}, nil, nil))
		if got, _ := expect.Got(t, m.Typed).Get("k"); cmp.Diff(c.want, got) != "" {
			t.Errorf("%T %v is read as %T %v", c.value, c.value, got, got)
		}
	}
}

// TestLosses lists what there is no place for, all of it.
func TestLosses(t *testing.T) {
	deep := strings.Repeat("[", 9) + "1" + strings.Repeat("]", 9)
	var nine any = []int32{1}
	for range maxDepth {
		nine = []any{nine}
	}
	s := &schema.Schema{
		Metadata: schema.Metadata{
			{Key: "null", Value: nil},
			{Key: "object", Value: json.RawMessage(`{"a": 1}`)},
			{Key: "mixed", Value: json.RawMessage(`[1, "a"]`)},
			{Key: "mixed too", Value: json.RawMessage(`["a", 1]`)},
			{Key: "mixed bools", Value: json.RawMessage(`[true, 1]`)},
			{Key: "mixed arrays", Value: json.RawMessage(`[[1], 2]`)},
			{Key: "not UTF-8", Value: json.RawMessage("[\"a\", \"\xff\"]")},
			{Key: "nulls", Value: json.RawMessage(`[null]`)},
			{Key: "deep", Value: json.RawMessage(deep)},
			{Key: "digits", Value: json.Number("0.12345678901234567890")},
			{Key: "many digits", Value: json.RawMessage("[0.5, 99999999999999999999]")},
			{Key: "broken", Value: json.RawMessage("[")},
			{Key: "half", Value: json.RawMessage(`"a`)},
			{Key: "fine", Value: "x"},
			{Key: "fine", Value: "y"},
			{Key: "", Value: "x"},
			{Key: strings.Repeat("k", 1<<16), Value: "x"},
			{Key: "type", Value: struct{}{}},
			{Key: "types", Value: []any{uint8(1)}},
			{Key: "deep types", Value: nine},
			{Key: "general.alignment", Value: "32"},
		},
		Tensors: []tensor.Info{
			{Name: "u", DType: tensor.Uint8, Shape: tensor.Shape{1}},
			{Name: "f", DType: tensor.Float8E5M2, Shape: tensor.Shape{1}},
			{Name: "five", DType: tensor.Float32, Shape: tensor.Shape{1, 1, 1, 1, 1}},
			{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{1}, Quant: &tensor.Quantization{Scales: []float32{1}, Axis: tensor.PerTensor}},
			{Name: "e", Encoding: &tensor.Encoding{Name: "Q4_0", BlockElems: 16, BlockBytes: 10}, Shape: tensor.Shape{16}},
			{Name: "fine", DType: tensor.Float32, Shape: tensor.Shape{}},
		},
		Graph: &schema.Graph{Name: "g"},
	}
	expect.Refused(t, format.ErrUnsupported, "too deep")(chosen(json.RawMessage(deep)))
	_, err := newWriter(io.Discard, s, nil)
	var e *schema.LossError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var got []string
	for _, l := range e.Losses {
		got = append(got, fmt.Sprintf("%s:%.12s", l.Kind, l.Name))
	}
	want := []string{
		"quantization:q", "metadata:null", "metadata:object", "metadata:mixed", "metadata:mixed too", "metadata:mixed bools", "metadata:mixed arrays", "metadata:not UTF-8",
		"metadata:nulls", "metadata:deep", "metadata:digits", "metadata:many digits", "metadata:broken", "metadata:half", "metadata:fine", "metadata:", "metadata:kkkkkkkkkkkk",
		"metadata:type", "metadata:types", "metadata:deep types", "metadata:general.alig", "graph:", "dtype:u", "dtype:f", "shape:five", "dtype:e",
	}
	expect.Equal(t, want, got)
	s.Tensors = s.Tensors[5:]
	b := write(t, s, &format.WriteOptions{AcceptLoss: []string{"metadata", "graph"}}, map[string][]byte{"fine": floats(1)})
	expect.Equal(t, schema.Metadata{{Key: "fine", Value: "x"}}, expect.Got(t, open(t, b).Metadata))
}

// TestAlignment writes with each way of saying it.
func TestAlignment(t *testing.T) {
	for _, c := range []struct {
		meta   schema.Metadata
		option int64
		want   int64
		entry  any
	}{
		{nil, 0, 32, nil},
		{nil, 32, 32, nil},
		{nil, 64, 64, int64(64)},
		{schema.Metadata{{Key: "a", Value: "b"}, {Key: "general.alignment", Value: int64(16)}}, 0, 16, int64(16)},
		{schema.Metadata{{Key: "general.alignment", Value: uint32(4096)}}, 0, 4096, int64(4096)},
		{schema.Metadata{{Key: "general.alignment", Value: int64(16)}}, 8, 8, int64(8)},
	} {
		s := &schema.Schema{Metadata: c.meta, Tensors: []tensor.Info{
			{Name: "a", DType: tensor.Int8, Shape: tensor.Shape{3}}, {Name: "b", DType: tensor.Int8, Shape: tensor.Shape{1}},
		}}
		b := write(t, s, &format.WriteOptions{Align: c.option}, map[string][]byte{"a": {1, 2, 3}, "b": {4}})
		m := open(t, b)
		entry, _ := expect.Got(t, m.Metadata).Get("general.alignment")
		if m.f.parts[0].align != c.want || entry != c.entry || int64(len(b))%c.want != 0 {
			t.Errorf("%v: alignment %d, %v, %d bytes", c, m.f.parts[0].align, entry, len(b))
		}
		if a, b := m.At(0).Info(), m.At(1).Info(); a.Offset%c.want != 0 || b.Offset != a.Offset+c.want {
			t.Errorf("%v: %d, %d", c, a.Offset, b.Offset)
		}
		expect.Equal(t, map[string][]byte{"a": {1, 2, 3}, "b": {4}}, dataOf(t, m))
	}
	for _, bad := range []int64{1, 4, 33, 1<<32 - 1, 1 << 32, 1 << 40, -8} {
		expect.Refused(t, format.ErrOption, bad)(newWriter(io.Discard, &schema.Schema{}, &format.WriteOptions{Align: bad}))
	}
}

// TestBigEndian: the error of a big-endian file names it.
func TestBigEndian(t *testing.T) {
	if _, err := openBytes([]byte("GGUF\x00\x00\x00\x03"), nil); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), "big-endian") {
		t.Error(err)
	}
}
