package mobi

import (
	"math"

	"github.com/weightmap/weightmap/tensor"
)

// quantizationsOf returns the quantization that operators have for constants, by id.
func quantizationsOf(ops []Operator) map[uint32]*tensor.Quantization {
	var found map[uint32]*tensor.Quantization
	for i := range ops {
		op := &ops[i]
		for input, values := range inputParams(op) {
			id := op.Inputs[input]
			q := quantization(values)
			known := found[id]
			if known != nil && !known.Equal(q) {
				q = unsound()
			}
			if found == nil {
				found = map[uint32]*tensor.Quantization{}
			}
			found[id] = q
		}
	}
	return found
}

// inputParams returns the parameters of an operator that are the quantization of an input, by the
// input and the kind of the parameter.
func inputParams(op *Operator) map[int][tensorName]any {
	var params map[int][tensorName]any
	for _, p := range op.Params {
		input, kind, ok := parseInputParam(p.Name)
		if !ok || kind == tensorName || input >= len(op.Inputs) {
			continue
		}
		if params == nil {
			params = map[int][tensorName]any{}
		}
		values := params[input]
		values[kind] = p.Value
		params[input] = values
	}
	return params
}

// unsound returns the parameters of a constant whose consumers contradict each other
// or themselves. They have no scales, so dequantizing fails for any shape.
func unsound() *tensor.Quantization { return &tensor.Quantization{Axis: tensor.PerTensor} }

func quantization(params [tensorName]any) *tensor.Quantization {
	scales, okScales := list[float32](params[scale])
	zeroPoints, okZero := list[int32](params[zeroPoint])
	channel, okAxis := params[axis].(int32)
	if params[scale] == nil || !okScales || !okZero || params[axis] != nil && !okAxis ||
		params[zeroPoint] != nil && len(zeroPoints) == 0 && len(scales) > 0 {
		return unsound()
	}
	q := &tensor.Quantization{Scales: scales, ZeroPoints: zeroPoints, Axis: tensor.PerTensor}
	switch {
	case channel < 0:
		q.Axis = math.MinInt32 // PerTensor is -1, which is not an axis in a file
	case okAxis:
		q.Axis = int(channel)
	}
	return q
}

// list returns the values of a parameter that is a T, a []T or nil.
func list[T any](v any) ([]T, bool) {
	switch v := v.(type) {
	case nil:
		return []T{}, true
	case T:
		return []T{v}, true
	case []T:
		return v, true
	}
	return nil, false
}

// sound reports whether q is valid for a constant of the given dtype and shape.
func sound(q *tensor.Quantization, d tensor.DType, shape tensor.Shape) bool {
	integer := d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32
	return integer && q.Scheme == tensor.Linear && q.Check(d, shape) == nil
}
