package mle

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// quantizedFile returns the file of a plan written with the option Quantized.
func quantizedFile(t *testing.T, p *format.Plan, data ...[]byte) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, p, &WriteOptions{Quantized: true})
	if err != nil {
		return nil, err
	}
	for i, b := range data {
		if err := w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(b)); err != nil {
			w.Abort()
			return nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// TestQuantized checks that quantized tensors keep their values, in one chunk per scale,
// and that float32 tensors next to them are exact for any range.
func TestQuantized(t *testing.T) {
	rows := &tensor.Quantization{Axis: 0, Scales: []float32{0.5, 1e-6}}
	one := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{2}, ZeroPoints: []int32{7}}
	p := &format.Plan{Tensors: []tensor.Info{
		{Name: "rows", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: rows}, {Name: "v", DType: tensor.Float32, Shape: tensor.Shape{7}},
		{Name: "u", DType: tensor.Uint8, Shape: tensor.Shape{2}, Quant: one}, {Name: "ones", DType: tensor.Float32, Shape: tensor.Shape{20}},
	}}
	vector := []float32{1e-30, 1e30, 0, -1e30, 3, math.SmallestNonzeroFloat32, -math.MaxFloat32}
	ones := bytes.Repeat(floats(1), 20)
	b, err := quantizedFile(t, p, []byte{1, 0xff, 127, 0x80, 0, 2}, floats(vector...), []byte{0, 255}, ones)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenBytes(b, &format.Options{Check: format.CheckAll})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if c, ok := f.Compression(); !ok || c.Method != MethodInt8 || c.Chunks != 2+5+1+1 {
		t.Errorf("%+v", c)
	}
	for i, want := range [][]float32{{0.5, -0.5, 63.5, -128e-6, 0, 2e-6}, vector, {-14, 496}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		got, err := tensor.Decode[float32](nil, f.At(i))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", p.Tensors[i].Name, err, diff)
		}
	}
	again, err := quantizedFile(t, p, []byte{1, 0xff, 127, 0x80, 0, 2}, floats(vector...), []byte{0, 255}, ones)
	if err != nil || !bytes.Equal(b, again) {
		t.Errorf("other bytes of the same plan: %v", err)
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
		if _, err := quantizedFile(t, &format.Plan{Tensors: []tensor.Info{info}}); !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		p := &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2}}}}
		if _, err := quantizedFile(t, p, floats(1, x)); !errors.Is(err, format.ErrQuantization) {
			t.Errorf("%v: %v", x, err)
		}
	}
	large := tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, mostExact}, Quant: &tensor.Quantization{Axis: 0, Scales: []float32{1, 1}}}
	w, err := NewWriter(&bytes.Buffer{}, &format.Plan{Tensors: []tensor.Info{large}}, &WriteOptions{Quantized: true})
	if err != nil {
		t.Fatalf("a large quantized tensor: %v", err)
	}
	w.Abort()
	if _, err := NewWriter(&bytes.Buffer{}, &format.Plan{}, &WriteOptions{Quantized: true, Compression: MethodZstd}); !errors.Is(err, format.ErrOption) {
		t.Errorf("compressed as well: %v", err)
	}
}
