package mobi

import (
	"math"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// The endings of the names of quantization parameters, after "input" and the index.
const (
	suffixScale     = "_scale"
	suffixZeroPoint = "_zero_point"
	suffixAxis      = "_axis"
)

var quantSuffixes = []string{suffixScale, suffixZeroPoint, suffixAxis}

// inputParam takes a name like "input1_scale" apart.
func inputParam(name string) (input int, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(name, "input")
	at := strings.IndexByte(rest, '_')
	if !ok || at < 0 {
		return 0, "", false
	}
	n, ok := parseDecimal(rest[:at], 16)
	return int(n), rest[at:], ok
}

// quantSlot collects the quantization parameters for one input of an operator.
type quantSlot struct{ scale, zeroPoint, axis any }

// slots finds the quantization parameters of an operator, by input.
func (o *Operator) slots() map[int]*quantSlot {
	var slots map[int]*quantSlot
	for _, p := range o.Params {
		input, suffix, ok := inputParam(p.Name)
		if !ok || input >= len(o.Inputs) {
			continue
		}
		s := slots[input]
		if s == nil {
			s = new(quantSlot)
		}
		switch suffix {
		case suffixScale:
			s.scale = p.Value
		case suffixZeroPoint:
			s.zeroPoint = p.Value
		case suffixAxis:
			s.axis = p.Value
		default:
			continue
		}
		if slots == nil {
			slots = map[int]*quantSlot{}
		}
		slots[input] = s
	}
	return slots
}

// quantizations returns what operators say of the ids they consume.
func quantizations(ops []Operator) map[uint32]*tensor.Quantization {
	found := map[uint32]*tensor.Quantization{}
	for i := range ops {
		slots := ops[i].slots()
		for input := 0; len(slots) > 0; input++ {
			s := slots[input]
			if s == nil {
				continue
			}
			delete(slots, input)
			id, q := ops[i].Inputs[input], s.quantization()
			if known := found[id]; known == nil {
				found[id] = q
			} else if !known.Equal(q) {
				found[id] = unsound()
			}
		}
	}
	return found
}

// unsound returns the parameters of a constant whose consumers contradict each
// other or themselves: no scales, which Dequantize refuses for any shape.
func unsound() *tensor.Quantization { return &tensor.Quantization{Axis: tensor.PerTensor} }

func (s *quantSlot) quantization() *tensor.Quantization {
	q := unsound()
	scales, ok := list[float32](s.scale)
	zeroPoints, okZero := list[int32](s.zeroPoint)
	axis, okAxis := s.axis.(int32)
	if s.scale == nil || !ok || !okZero || s.axis != nil && !okAxis || s.zeroPoint != nil && len(zeroPoints) == 0 && len(scales) > 0 {
		return q
	}
	q.Scales, q.ZeroPoints = scales, zeroPoints
	if s.axis != nil {
		q.Axis = int(axis)
		if axis < 0 {
			q.Axis = math.MinInt32 // PerTensor is -1, which is not an axis in a file
		}
	}
	return q
}

// list returns the values of a parameter that is one or an array, or absent.
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

// sound reports whether constants of that dtype and shape can have these parameters.
func sound(q *tensor.Quantization, d tensor.DType, shape tensor.Shape) bool {
	integer := d == tensor.Int8 || d == tensor.Int16 || d == tensor.Int32
	return integer && q.Scheme == tensor.Linear && q.Check(d, shape) == nil
}

// addQuantization adds the parameters of quantized constants to the operators that
// consume them, unless an operator has some already.
func addQuantization(ops []Operator, tensors []tensor.Info, ids []uint32) {
	missing := map[uint32]*tensor.Quantization{}
	for i, id := range ids {
		if tensors[i].Quant != nil {
			missing[id] = tensors[i].Quant
		}
	}
	for id := range quantizations(ops) {
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

// quantParams makes the parameters for one input.
func quantParams(input int, q *tensor.Quantization) []Param {
	prefix := "input" + strconv.Itoa(input)
	scale := Param{prefix + suffixScale, q.Scales}
	if q.Axis == tensor.PerTensor && len(q.Scales) == 1 {
		scale.Value = q.Scales[0]
	}
	params := []Param{scale}
	switch len(q.ZeroPoints) {
	case 0:
	case 1:
		params = append(params, Param{prefix + suffixZeroPoint, q.ZeroPoints[0]})
	default:
		params = append(params, Param{prefix + suffixZeroPoint, q.ZeroPoints})
	}
	if q.Axis != tensor.PerTensor {
		params = append(params, Param{prefix + suffixAxis, int32(q.Axis)})
	}
	return params
}
