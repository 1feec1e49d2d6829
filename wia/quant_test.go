package wia

import (
	"errors"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestQuantization(t *testing.T) {
	data := []byte{0, 1, 255, 2, 3, 4} // int8: 0 1 -1 2 3 4
	zeros := func(v ...int64) []byte {
		var b []byte
		for _, z := range v {
			b = append(b, vi(2, z)...)
		}
		return b
	}
	tests := []struct {
		name  string
		quant []byte
		want  []float32 // nil: ErrQuantization
	}{
		{"linear", cat(vi(1, 1), fl(2, 0.5), vi(3, 1), vi(4, 7)), []float32{-0.5, 0, -1, 0.5, 1, 1.5}},
		{"logarithmic", cat(vi(1, 2), fl(2, 1)), []float32{0, 1, -1, 3, 7, 15}},
		{"scale 0", vi(1, 1), []float32{0, 0, float32(math.Copysign(0, -1)), 0, 0, 0}},
		{"per channel", cat(vi(1, 1), fl(2, 9), vi(3, 9), by(5, by(1, floats(1, 10)), zeros(0, 1))), []float32{0, 1, -1, 10, 20, 30}},
		{"per channel, other axis", cat(vi(1, 1), by(5, by(1, floats(1, 10, 100)), vi(3, 1))), []float32{0, 10, -100, 2, 30, 400}},
		{"per channel, unpacked, in two pieces", cat(vi(1, 1), by(5, fl(1, 1)), by(5, fl(1, 10), by(2, []byte{0, 1}))), []float32{0, 1, -1, 10, 20, 30}},
		{"negative zero point in five bytes", cat(vi(1, 1), fl(2, 1), rawVarint(3, 0xff, 0xff, 0xff, 0xff, 0x0f)), []float32{1, 2, 0, 3, 4, 5}},
		{"zero point beyond int32 is cut", cat(vi(1, 1), fl(2, 1), vi(3, 1<<32|1)), []float32{-1, 0, -2, 1, 2, 3}},
		{"unknown type", cat(vi(1, 3), fl(2, 1)), nil},
		{"too few scales", cat(vi(1, 1), by(5, by(1, floats(1)))), nil},
		{"no scales", cat(vi(1, 1), fl(2, 1), by(5)), nil},
		{"one zero point for two scales", cat(vi(1, 1), by(5, by(1, floats(1, 2)), zeros(1))), nil},
		{"axis 2", cat(vi(1, 1), by(5, by(1, floats(1, 2)), vi(3, 2))), nil},
		{"axis -1", cat(vi(1, 1), by(5, by(1, floats(1)), vi(3, -1))), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			msg := cat(inline("q", 7, data, 2, 3), by(6, by(3, tt.quant)))
			f := mustOpen(t, container{tensor: by(1, msg), graph: by(2, by(5, by(5, msg)))}.bytes(), nil)
			v, _ := f.Tensor("q")
			g, err := f.Graph()
			expect.OK(t, err)
			for _, v := range []tensor.View{v, g.Nodes[0].Attributes[0].Value.(tensor.View)} {
				got, err := tensor.Decode[float32](nil, v)
				if (err != nil) != (tt.want == nil) || err != nil && !errors.Is(err, tensor.ErrQuantization) {
					t.Fatal(err)
				}
				expect.Equal(t, tt.want, got)
				if raw, err := tensor.Decode[int8](nil, v); err != nil || len(raw) != 6 {
					t.Errorf("stored values: %v", err)
				}
			}
		})
	}
}

func TestWriterRefusesQuantization(t *testing.T) {
	q := func(q tensor.Quantization) *schema.Schema {
		return &schema.Schema{Tensors: []tensor.Info{{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: &q}}}
	}
	if _, err := newWriter(nil, q(tensor.Quantization{Scales: []float32{1}, Axis: 2}), nil); !errors.Is(err, format.ErrSchema) || !errors.Is(err, tensor.ErrQuantization) {
		t.Error(err)
	}
	p := q(tensor.Quantization{Scales: []float32{1, 2}, ZeroPoints: []int32{3}, Axis: 0})
	f := mustOpen(t, writeSample(t, p, nil), nil)
	v, _ := f.Tensor("q")
	expect.Equal(t, &tensor.Quantization{Scales: []float32{1, 2}, ZeroPoints: []int32{3, 3}, Axis: 0}, v.Info().Quant)
}
