package quant

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Linear returns a view of x with the parameters in two other tensors: the numbers are
// (x - zero) * scale, as those of a DequantizeLinear node of ONNX whose inputs are constants. scale
// has one float32, or one for each channel along axis. zero has as many zero points, of the type of
// x; the zero View stands for none. axis is the attribute of the node, which is 1 where it is
// missing, and counts from the last axis if it is negative.
//
// Errors: ErrDType for other types than int8 and uint8, and for scales that are not float32;
// ErrShape for scales of more than one axis, and for zero points of another shape;
// ErrQuantization for parameters that do not fit x, or if x has others; ErrClosed; and those of
// reading the parameters.
func Linear(x, scale, zero tensor.View, axis int) (tensor.View, error) {
	if isZero(x) || isZero(scale) {
		return tensor.View{}, tensor.ErrClosed
	}
	info := x.Info()
	q, err := linear(&info, scale, zero, axis)
	if err != nil {
		return tensor.View{}, fmt.Errorf("tensor %q with scales in %q: %w", info.Name, scale.Name(), err)
	}
	info.Quant = q
	return x.WithInfo(info)
}

func linear(x *tensor.Info, scale, zero tensor.View, axis int) (*tensor.Quantization, error) {
	scales := scale.Info()
	switch {
	case x.DType != tensor.Int8 && x.DType != tensor.Uint8:
		return nil, fmt.Errorf("%w: %s has no linear quantization here, int8 and uint8 have",
			tensor.ErrDType, x.TypeName())
	case scales.DType != tensor.Float32:
		return nil, fmt.Errorf("%w: the scales are %s, not float32", tensor.ErrDType, scales.TypeName())
	case len(scales.Shape) > 1:
		return nil, fmt.Errorf("%w: the scales have the shape %v", tensor.ErrShape, scales.Shape)
	}
	q := &tensor.Quantization{Axis: tensor.PerTensor}
	var err error
	q.Scales, err = tensor.Decode[float32](nil, scale)
	if err != nil {
		return nil, err
	}
	if len(q.Scales) != 1 {
		if axis < 0 {
			axis += len(x.Shape)
		}
		q.Axis = axis
	}
	q.ZeroPoints, err = zeroPoints(x, scales.Shape, zero)
	if err != nil {
		return nil, err
	}
	if err := q.Check(x.DType, x.Shape); err != nil {
		return nil, err
	}
	if x.Quant != nil && !x.Quant.Equal(q) {
		return nil, fmt.Errorf("%w: the tensor has other parameters", tensor.ErrQuantization)
	}
	return q, nil
}

// zeroPoints decodes the zero points of x, nil for the zero View.
func zeroPoints(x *tensor.Info, shape tensor.Shape, zero tensor.View) ([]int32, error) {
	if isZero(zero) {
		return nil, nil
	}
	info := zero.Info()
	if info.DType != x.DType {
		return nil, fmt.Errorf("%w: the zero points are %s, not %s",
			tensor.ErrDType, info.TypeName(), x.DType)
	}
	if !info.Shape.Equal(shape) {
		return nil, fmt.Errorf("%w: the zero points have the shape %v, the scales %v",
			tensor.ErrShape, info.Shape, shape)
	}
	values, err := tensor.Decode[float32](nil, zero)
	if err != nil {
		return nil, err
	}
	points := make([]int32, len(values))
	for i, v := range values {
		points[i] = int32(v)
	}
	return points, nil
}

// isZero reports whether a view is the zero View.
func isZero(v tensor.View) bool { return (*memory.Ref[tensor.Info])(&v).Info() == nil }
