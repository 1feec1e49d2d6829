package mobi

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// The quantization parameters of an input, as indexes into quantSuffixes.
const (
	scale = iota
	zeroPoint
	axis
)

var quantSuffixes = [...]string{scale: "_scale", zeroPoint: "_zero_point", axis: "_axis"}

// inputParam parses a name such as "input1_scale".
func inputParam(name string) (input int, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(name, "input")
	at := strings.IndexByte(rest, '_')
	if !ok || at < 0 {
		return 0, "", false
	}
	n, ok := parseDecimal(rest[:at], 16)
	return int(n), rest[at:], ok
}

// quantParam parses the name of a quantization parameter.
func quantParam(name string) (input, kind int, ok bool) {
	input, suffix, ok := inputParam(name)
	kind = slices.Index(quantSuffixes[:], suffix)
	return input, kind, ok && kind >= 0
}

// addQuantizations adds the quantization that an operator has for its inputs to
// found, by id.
func addQuantizations(found map[uint32]*tensor.Quantization, op *Operator) {
	var params map[int][len(quantSuffixes)]any
	for _, p := range op.Params {
		if input, kind, ok := quantParam(p.Name); ok && input < len(op.Inputs) {
			if params == nil {
				params = map[int][len(quantSuffixes)]any{}
			}
			values := params[input]
			values[kind] = p.Value
			params[input] = values
		}
	}
	if params == nil {
		return // as in most operators
	}
	for input, id := range op.Inputs {
		values, ok := params[input]
		if !ok {
			continue
		}
		q := quantization(values)
		if known := found[id]; known == nil {
			found[id] = q
		} else if !known.Equal(q) {
			found[id] = unsound()
		}
	}
}

// quantizationsOf returns the quantization that operators have for constants, by id.
func quantizationsOf(ops []Operator) map[uint32]*tensor.Quantization {
	found := map[uint32]*tensor.Quantization{}
	for i := range ops {
		addQuantizations(found, &ops[i])
	}
	return found
}

// unsound returns the parameters of a constant whose consumers contradict each other
// or themselves. They have no scales, so dequantizing fails for any shape.
func unsound() *tensor.Quantization { return &tensor.Quantization{Axis: tensor.PerTensor} }

func quantization(params [len(quantSuffixes)]any) *tensor.Quantization {
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

// addQuantization adds the parameters of quantized constants to the operators that
// consume them, unless an operator already has some for the constant.
func addQuantization(ops []Operator, tensors []tensor.Info, ids []uint32) {
	missing := map[uint32]*tensor.Quantization{}
	for i, id := range ids {
		if tensors[i].Quant != nil {
			missing[id] = tensors[i].Quant
		}
	}
	for id := range quantizationsOf(ops) {
		delete(missing, id)
	}
	for i := range ops {
		for input, id := range ops[i].Inputs {
			if q := missing[id]; q != nil {
				ops[i].Params = append(ops[i].Params, quantParams(input, q)...)
			}
		}
	}
}

// quantParams returns the parameters for one input.
func quantParams(input int, q *tensor.Quantization) []Param {
	prefix := "input" + strconv.Itoa(input)
	params := []Param{{Name: prefix + quantSuffixes[scale], Value: q.Scales}}
	if q.Axis == tensor.PerTensor && len(q.Scales) == 1 {
		params[0].Value = q.Scales[0]
	}
	switch len(q.ZeroPoints) {
	case 0:
	case 1:
		params = append(params, Param{Name: prefix + quantSuffixes[zeroPoint], Value: q.ZeroPoints[0]})
	default:
		params = append(params, Param{Name: prefix + quantSuffixes[zeroPoint], Value: q.ZeroPoints})
	}
	if q.Axis != tensor.PerTensor {
		params = append(params, Param{Name: prefix + quantSuffixes[axis], Value: int32(q.Axis)})
	}
	return params
}
