package mobi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/wire"
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

// quantizationsOf returns the quantization that operators have for constants, by id.
func quantizationsOf(ops []Operator) map[uint32]*tensor.Quantization {
	var found map[uint32]*tensor.Quantization
	for i := range ops {
		op := &ops[i]
		params := map[int][len(quantSuffixes)]any{} // by input
		for _, p := range op.Params {
			if input, kind, ok := quantParam(p.Name); ok && input < len(op.Inputs) {
				values := params[input]
				values[kind] = p.Value
				params[input] = values
			}
		}
		for input, values := range params {
			id, q := op.Inputs[input], quantization(values)
			if known := found[id]; known != nil && !known.Equal(q) {
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
// consume them, unless an operator already has some for the constant, which must be the same, and lists those
// that are invalid or that the file cannot hold.
func addQuantization(ops []Operator, p *plan.Plan, ids []uint32, l *plan.LossList) error {
	if !slices.ContainsFunc(p.Tensors, func(t tensor.Info) bool { return t.Quant != nil }) {
		return nil
	}
	known, missing, consumed := quantizationsOf(ops), map[uint32]*tensor.Quantization{}, map[uint32]bool{}
	for i, id := range ids {
		q := p.Tensors[i].Quant
		if known[id] == nil {
			missing[id] = q
		} else if q != nil && !q.Equal(known[id]) {
			return wire.Refuse(name, fmt.Sprintf("tensor %q", p.Tensors[i].Name), "%w: they differ from those in the operators of the graph", format.ErrQuantization)
		}
	}
	for i := range ops {
		for input, id := range ops[i].Inputs {
			consumed[id] = true
			if q := missing[id]; q != nil {
				ops[i].Params = append(ops[i].Params, quantParams(input, q)...)
			}
		}
	}
	for i, id := range ids {
		t, err := &p.Tensors[i], error(nil)
		switch {
		case missing[id] == nil:
		case t.Quant.Scheme != tensor.Linear:
			err = fmt.Errorf("%w: %v quantization", format.ErrUnsupported, t.Quant.Scheme)
		case !sound(t.Quant, t.DType, t.Shape):
			err = fmt.Errorf("%w: they do not fit %v %v", format.ErrQuantization, t.DType, t.Shape)
		case !consumed[id]:
			err = fmt.Errorf("%w: MOBI stores quantization parameters in the operators that consume a constant, and there are none", format.ErrUnsupported)
		}
		if err != nil {
			l.Quantization(p, i, err)
		}
	}
	return nil
}

// quantParams returns the parameters for one input.
func quantParams(input int, q *tensor.Quantization) []Param {
	prefix := "input" + strconv.Itoa(input)
	params := []Param{{Name: prefix + quantSuffixes[scale], Value: q.Scales}}
	if q.Axis == tensor.PerTensor && len(q.Scales) == 1 {
		params[0].Value = q.Scales[0]
	}
	if n := len(q.ZeroPoints); n == 1 {
		params = append(params, Param{Name: prefix + quantSuffixes[zeroPoint], Value: q.ZeroPoints[0]})
	} else if n > 1 {
		params = append(params, Param{Name: prefix + quantSuffixes[zeroPoint], Value: q.ZeroPoints})
	}
	if q.Axis != tensor.PerTensor {
		params = append(params, Param{Name: prefix + quantSuffixes[axis], Value: int32(q.Axis)})
	}
	return params
}
