package mobi

import (
	"fmt"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// users is how operators use a quantized constant.
type users struct {
	consumed bool // by any
	carried  bool // an operator has its parameters already, as a graph read from a file does
}

// usersOf looks for the quantized constants, by id, among the inputs of ops.
func usersOf(tensors []tensor.Info, ids []uint32, ops []Operator) map[uint32]users {
	found := map[uint32]users{}
	for i, id := range ids {
		if tensors[i].Quant != nil {
			found[id] = users{}
		}
	}
	if len(found) == 0 {
		return found
	}
	for i := range ops {
		has := quantInputs(&ops[i])
		for input, id := range ops[i].Inputs {
			if u, ok := found[id]; ok {
				found[id] = users{consumed: true, carried: u.carried || has[input]}
			}
		}
	}
	return found
}

// quantize adds the parameters of quantized constants to the operators that
// consume them, unless an operator carries some already.
func (d *document) quantize(ops []Operator) {
	found := usersOf(d.tensors, d.ids, ops)
	byID := make(map[uint32]int, len(found))
	for i, id := range d.ids {
		if d.tensors[i].Quant != nil && !found[id].carried {
			byID[id] = i
		}
	}
	for i := range ops {
		for input, id := range ops[i].Inputs {
			if t, ok := byID[id]; ok {
				ops[i].Params = append(ops[i].Params, quantParams(input, d.tensors[t].Quant)...)
			}
		}
	}
}

// canQuantize refuses parameters that the file cannot hold or that mean nothing.
func canQuantize(t *tensor.Info, u users) error {
	switch {
	case t.Quant == nil || u.carried:
		return nil
	case t.Quant.Scheme != tensor.Linear:
		return fmt.Errorf("%w: %v quantization", format.ErrUnsupported, t.Quant.Scheme)
	case !sound(t.Quant, t.DType, t.Shape):
		return fmt.Errorf("%w: they do not fit %v %v", format.ErrQuantization, t.DType, t.Shape)
	case !u.consumed:
		return fmt.Errorf("%w: MOBI keeps quantization parameters with the operators that consume a constant, and none does", format.ErrUnsupported)
	}
	return nil
}

// quantInputs returns the inputs that parameters of op speak of.
func quantInputs(op *Operator) map[int]bool {
	var has map[int]bool
	for _, p := range op.Params {
		if input, kind := quantParam([]byte(p.Name)); kind != notQuant {
			if has == nil {
				has = map[int]bool{}
			}
			has[input] = true
		}
	}
	return has
}

// quantParams makes the parameters for one input.
func quantParams(input int, q *tensor.Quantization) []Param {
	prefix := "input" + strconv.Itoa(input)
	scale := Param{prefix + quantSuffix[quantScale], q.Scales}
	if q.Axis == tensor.PerTensor && len(q.Scales) == 1 {
		scale.Value = q.Scales[0]
	}
	params := []Param{scale}
	switch len(q.ZeroPoints) {
	case 0:
	case 1:
		params = append(params, Param{prefix + quantSuffix[quantZeroPoint], q.ZeroPoints[0]})
	default:
		params = append(params, Param{prefix + quantSuffix[quantZeroPoint], q.ZeroPoints})
	}
	if q.Axis != tensor.PerTensor {
		params = append(params, Param{prefix + quantSuffix[quantAxis], int32(q.Axis)})
	}
	return params
}

// checkQuant compares the parameters a reader will find with the plan's.
func (d *document) checkQuant(p *parser, s *survey) error {
	if s.quantized == 0 {
		return nil
	}
	p.index = &driver.Index{}
	p.index.Grow(len(d.ids), 10*len(d.ids), 0)
	for _, id := range d.ids {
		p.index.Add(&driver.Tensor{Name: []byte(constantName(id))})
	}
	p.quantize(d.graph, s)
	for i := range d.tensors {
		want, got := d.tensors[i].Quant, p.index.Quant(i)
		if want != nil && (got == nil || !want.Equal(got)) {
			err := fmt.Errorf("%w: they differ from those that operators of the graph carry", format.ErrQuantization)
			return planError(fmt.Sprintf("tensor %q", d.tensors[i].Name), err)
		}
	}
	return nil
}
