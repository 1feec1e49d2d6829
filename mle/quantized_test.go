package mle

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestQuantized checks that quantized tensors keep their values, in one chunk per scale,
// and that float32 tensors next to them are exact for any range.
func TestQuantized(t *testing.T) {
	rows := &tensor.Quantization{Axis: 0, Scales: []float32{0.5, 1e-6}}
	one := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{2}, ZeroPoints: []int32{7}}
	p := &schema.Schema{Tensors: []tensor.Info{
		{Name: "rows", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: rows}, {Name: "v", DType: tensor.Float32, Shape: tensor.Shape{7}},
		{Name: "u", DType: tensor.Uint8, Shape: tensor.Shape{2}, Quant: one}, {Name: "ones", DType: tensor.Float32, Shape: tensor.Shape{20}},
	}}
	vector := []float32{1e-30, 1e30, 0, -1e30, 3, math.SmallestNonzeroFloat32, -math.MaxFloat32}
	ones := bytes.Repeat(floats(1), 20)
	b := writtenWith(t, p, &format.WriteOptions{Format: Format{Quantized: true}}, []byte{1, 0xff, 127, 0x80, 0, 2}, floats(vector...), []byte{0, 255}, ones)
	f := mustOpen(t, b, &format.Options{Check: format.CheckAll})
	if c, ok := f.Compression(); !ok || c.Method != MethodInt8 || c.Chunks != 2+5+1+1 {
		t.Errorf("%+v", c)
	}
	for i, want := range [][]float32{{0.5, -0.5, 63.5, -128e-6, 0, 2e-6}, vector, {-14, 496}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		got, err := tensor.Decode[float32](nil, f.At(i))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", p.Tensors[i].Name, err, diff)
		}
	}
}

// TestQuantizedRefused checks that tensors that MethodInt8 cannot store are refused.
func TestQuantizedRefused(t *testing.T) {
	q := func(d tensor.DType, axis int, zero int32) tensor.Info {
		n := 1
		if axis >= 0 {
			n = 2
		}
		return tensor.Info{Name: "w", DType: d, Shape: tensor.Shape{2, 2}, Quant: &tensor.Quantization{Axis: axis, Scales: make([]float32, n), ZeroPoints: []int32{zero}}}
	}
	for name, info := range map[string]tensor.Info{
		"another axis":        q(tensor.Int8, 1, 0),
		"codes":               {Name: "w", DType: tensor.Uint8, Shape: tensor.Shape{2}, Quant: &tensor.Quantization{Scheme: tensor.Logarithmic, Axis: tensor.PerTensor, Scales: []float32{1}}},
		"int16":               q(tensor.Int16, tensor.PerTensor, 0),
		"zero point too high": q(tensor.Int8, 0, 128),
		"zero point too low":  q(tensor.Uint8, 0, -1),
		"float16":             {Name: "w", DType: tensor.Float16, Shape: tensor.Shape{2}},
		"int8 without scale":  {Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2}},
		"too much to keep":    {Name: "w", DType: tensor.Float32, Shape: tensor.Shape{mostExact + 1}},
	} {
		expect.Refused(t, format.ErrUnsupported, name)(newWriter(io.Discard, &schema.Schema{Tensors: []tensor.Info{info}}, &format.WriteOptions{Format: Format{Quantized: true}}))
	}
	large := tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, mostExact}, Quant: &tensor.Quantization{Axis: 0, Scales: []float32{1, 1}}}
	w, err := newWriter(io.Discard, &schema.Schema{Tensors: []tensor.Info{large}}, &format.WriteOptions{Format: Format{Quantized: true}})
	expect.OK(t, err)
	w.Abort()
}
