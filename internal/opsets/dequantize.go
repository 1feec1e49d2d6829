package opsets

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Dequantizes reports whether a node is DequantizeLinear with inputs that may be constants.
func Dequantizes(n *schema.Node) bool {
	return n.Op == "DequantizeLinear" && n.Domain == "" && len(n.Inputs) >= 2 && len(n.Inputs) <= 3 && len(n.Outputs) == 1
}

// Quantization returns the parameters that a DequantizeLinear node gives a constant x. parameters
// are the other inputs: the scales and, if there are three inputs, the zero points. It returns
// ErrUnsupported for a form that is no tensor.Quantization.
func Quantization(n *schema.Node, x *tensor.Info, parameters []tensor.View) (*tensor.Quantization, error) {
	refuse := fmt.Errorf("%w: it dequantizes what is no constant, or in a form that is not known", tensor.ErrUnsupported)
	scale := parameters[0].Info()
	if x.DType != tensor.Int8 && x.DType != tensor.Uint8 || scale.DType != tensor.Float32 || len(scale.Shape) > 1 {
		return nil, refuse
	}
	q := &tensor.Quantization{Axis: tensor.PerTensor}
	var err error
	if q.Scales, err = tensor.Decode[float32](nil, parameters[0]); err != nil {
		return nil, err
	}
	if len(scale.Shape) == 1 && len(q.Scales) != 1 {
		q.Axis = axisOf(n, len(x.Shape))
	}
	if len(parameters) > 1 {
		zero := parameters[1].Info()
		if zero.DType != x.DType || !slices.Equal(zero.Shape, scale.Shape) {
			return nil, refuse
		}
		points, err := tensor.Decode[float32](nil, parameters[1])
		if err != nil {
			return nil, err
		}
		for _, z := range points {
			q.ZeroPoints = append(q.ZeroPoints, int32(z))
		}
	}
	if err := q.Check(x.DType, x.Shape); err != nil {
		return nil, err
	}
	if x.Quant != nil && !x.Quant.Equal(q) {
		return nil, refuse
	}
	return q, nil
}

// axisOf returns the attribute axis, 1 by default, for a tensor of a rank. One that is out of range
// is refused by tensor.Quantization.Check.
func axisOf(n *schema.Node, rank int) int {
	axis := int64(1)
	for _, a := range n.Attributes {
		if v, ok := a.Value.(int64); ok && a.Name == "axis" {
			axis = v
			break
		}
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(min(max(axis, -1), int64(rank)))
}
