package convert

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// TestSound: what a file says of its quantization is refused before any of it is
// written, even where a piece would not see that it is wrong.
func TestSound(t *testing.T) {
	scales := func(axis, n, zeros int) *tensor.Quantization {
		return &tensor.Quantization{Axis: axis, Scales: make([]float32, n), ZeroPoints: make([]int32, zeros)}
	}
	for _, tt := range []struct {
		name  string
		d     tensor.DType
		shape tensor.Shape
		q     *tensor.Quantization
		ok    bool
	}{
		{"none", tensor.Float32, tensor.Shape{2}, nil, true},
		{"per tensor", tensor.Int8, tensor.Shape{}, scales(tensor.PerTensor, 1, 0), true},
		{"per channel", tensor.Int8, tensor.Shape{2, 3}, scales(1, 3, 3), true},
		{"too many scales", tensor.Int8, tensor.Shape{2, 3}, scales(0, 3, 0), false},
		{"too few zero points", tensor.Int8, tensor.Shape{2, 3}, scales(1, 3, 2), false},
		{"two for a tensor", tensor.Int8, tensor.Shape{2}, scales(tensor.PerTensor, 2, 0), false},
		{"axis of a scalar", tensor.Int8, tensor.Shape{}, scales(0, 1, 0), false},
		{"axis out of range", tensor.Int8, tensor.Shape{2}, scales(7, 1, 0), false},
		{"axis behind the last, no elements", tensor.Int8, tensor.Shape{0, 2}, scales(2, 0, 0), false},
		{"no integers", tensor.Float16, tensor.Shape{2}, scales(tensor.PerTensor, 1, 0), false},
	} {
		err := sound(&tensor.Info{DType: tt.d, Shape: tt.shape, Quant: tt.q})
		if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, tensor.ErrQuantization) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
