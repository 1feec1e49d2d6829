package gguf

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestQuantize: a file of blocks says which version they have.
func TestQuantize(t *testing.T) {
	data, _, _, err := tensor.Quantize(make([]float32, 96), tensor.Shape{1, 96}, tensor.QuantizeOptions{Encoding: Q8_0()})
	if err != nil {
		t.Fatal(err)
	}
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "w", Encoding: Q8_0(), Shape: tensor.Shape{1, 96}}}}
	m := open(t, write(t, plan, nil, map[string][]byte{"w": data}))
	if v, ok := m.Value("general.quantization_version"); !ok || v != uint32(2) {
		t.Error(v, ok)
	}
}

// TestQuantizeRefused: rows that are no whole blocks, and bytes that do not fit.
func TestQuantizeRefused(t *testing.T) {
	for _, shape := range []tensor.Shape{{33}, {2, 16}, {}} {
		n, _ := shape.Elems()
		if _, _, _, err := tensor.Quantize(make([]float32, n), shape, tensor.QuantizeOptions{Encoding: Q8_0()}); !errors.Is(err, format.ErrShape) {
			t.Errorf("%v: %v", shape, err)
		}
	}
	if _, err := tensor.NewQuantizer(tensor.Shape{32}, tensor.QuantizeOptions{Encoding: elementTypes[2].encoding}); !errors.Is(err, format.ErrDType) {
		t.Error(err)
	}
	for _, n := range []int{0, 33, 35, 68} {
		if err := Q8_0().Encode(make([]byte, n), make([]float32, 32)); !errors.Is(err, format.ErrShape) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestQuantizeBlock is a block byte by byte: 127 and -63.5 with a scale of 1, and
// halves rounded away from zero.
func TestQuantizeBlock(t *testing.T) {
	x := append([]float32{127, -63.5, 0.5, -0.5, 0.49, 1.5, 2.5, -127}, make([]float32, 24)...)
	got := make([]byte, 34)
	err := Q8_0().Encode(got, x)
	want := append([]byte{0x00, 0x3c, 127, 0xc0, 1, 0xff, 0, 2, 3, 0x81}, make([]byte, 24)...)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1)), 1e30} {
		x[10] = bad
		if err := Q8_0().Encode(got, x); !errors.Is(err, format.ErrQuantization) {
			t.Errorf("%v is quantized", bad)
		}
	}
	clear(x)
	x[0] = 1e-44 // its inverse is infinite
	if err = Q8_0().Encode(got, x); err != nil || cmp.Diff(make([]byte, 34), got) != "" {
		t.Errorf("% x, %v", got, err)
	}
}
