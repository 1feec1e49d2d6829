package quant_test

import (
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// TestLinear: the parameters of ONNX's DequantizeLinear, from its inputs and its attribute.
func TestLinear(t *testing.T) {
	none := tensor.View{}
	ints := func(d tensor.DType, shape tensor.Shape, b ...byte) tensor.View {
		return expect.Must(tensor.FromBytes("x", d, shape, b))
	}
	floats := func(shape tensor.Shape, f ...float32) tensor.View {
		return expect.Must(tensor.Of("s", shape, f))
	}
	x := ints(tensor.Int8, tensor.Shape{2, 3}, 1, 2, 3, 4, 5, 0xff)
	u := ints(tensor.Uint8, tensor.Shape{2}, 200, 0)
	one := floats(nil, 2)
	two := floats(tensor.Shape{2}, 2, 10)
	three := floats(tensor.Shape{3}, 1, 10, 100)
	zeros := ints(tensor.Int8, tensor.Shape{3}, 1, 0xff, 0)
	quantized, err := quant.Linear(x, one, none, 1)
	expect.OK(t, err)
	for _, c := range []struct {
		name           string
		x, scale, zero tensor.View
		axis           int
		want           []float32
		err            error
	}{
		{"one scale", x, one, none, 1, []float32{2, 4, 6, 8, 10, -2}, nil},
		{"one scale, and an axis that counts for nothing", x, one, none, 9, []float32{2, 4, 6, 8, 10, -2}, nil},
		{"a list of one scale", x, floats(tensor.Shape{1}, 2), none, 1, []float32{2, 4, 6, 8, 10, -2}, nil},
		{"rows", x, two, none, 0, []float32{2, 4, 6, 40, 50, -10}, nil},
		{"columns", x, three, none, 1, []float32{1, 20, 300, 4, 50, -100}, nil},
		{"rows, counted from the last", x, two, none, -2, []float32{2, 4, 6, 40, 50, -10}, nil},
		{"columns, counted from the last", x, three, none, -1, []float32{1, 20, 300, 4, 50, -100}, nil},
		{"zero points", x, three, zeros, 1, []float32{0, 30, 300, 3, 60, -100}, nil},
		{"one zero point of bytes", u, one, ints(tensor.Uint8, nil, 128), 1, []float32{144, -256}, nil},
		{"the same parameters again", quantized, one, none, 1, []float32{2, 4, 6, 8, 10, -2}, nil},
		{"other parameters", quantized, two, none, 0, nil, tensor.ErrQuantization},
		{"too many scales", x, three, none, 0, nil, tensor.ErrQuantization},
		{"an axis after the last", x, three, none, 2, nil, tensor.ErrQuantization},
		{"an axis before the first", x, three, none, -3, nil, tensor.ErrQuantization},
		{"an axis far before the first", x, three, none, -9, nil, tensor.ErrQuantization},
		{"int32", ints(tensor.Int32, tensor.Shape{1}, 1, 0, 0, 0), one, none, 1, nil, tensor.ErrDType},
		{"scales of integers", x, u, none, 0, nil, tensor.ErrDType},
		{"scales of two axes", x, floats(tensor.Shape{1, 2}, 1, 2), none, 0, nil, tensor.ErrShape},
		{"zero points of another type", x, one, ints(tensor.Uint8, nil, 1), 0, nil, tensor.ErrDType},
		{"zero points of another shape", x, three, ints(tensor.Int8, nil, 1), 1, nil, tensor.ErrShape},
		{"no scales", x, none, none, 0, nil, tensor.ErrClosed},
		{"no tensor", none, one, none, 0, nil, tensor.ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := quant.Linear(c.x, c.scale, c.zero, c.axis)
			if c.err != nil {
				expect.Refused(t, c.err)(v, err)
				return
			}
			expect.OK(t, err)
			got, err := tensor.Decode[float32](nil, v)
			expect.OK(t, err)
			expect.Equal(t, c.want, got)
		})
	}
}
