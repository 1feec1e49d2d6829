package mobi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// The parameters of an operator that describe the constant it consumes as an input, as indexes into
// inputSuffixes.
const (
	scale = iota
	zeroPoint
	axis
	tensorName // see nameOperator
)

var inputSuffixes = [...]string{
	scale:      "scale",
	zeroPoint:  "zero_point",
	axis:       "axis",
	tensorName: "name",
}

// inputParam returns a parameter of an input, such as "input1_scale" of the second.
func inputParam(input, kind int, value any) Param {
	return Param{"input" + strconv.Itoa(input) + "_" + inputSuffixes[kind], value}
}

// parseInputParam parses the name of a parameter of an input.
func parseInputParam(name string) (input, kind int, ok bool) {
	rest, ok := strings.CutPrefix(name, "input")
	number, suffix, _ := strings.Cut(rest, "_")
	kind = slices.Index(inputSuffixes[:], suffix)
	if !ok || kind < 0 {
		return 0, 0, false
	}
	n, ok := parseDecimal(number, 16)
	return int(n), kind, ok
}

// quantParam returns the input of which a parameter with this name is a quantization parameter.
func quantParam(name string) (input int, ok bool) {
	input, kind, ok := parseInputParam(name)
	return input, ok && kind != tensorName
}

// inputTensor is a tensor that parameters of inputs may describe.
type inputTensor struct {
	index    int // in the schema
	id       uint32
	named    bool // readers know its name
	consumed bool // an operator has it as an input
}

// inputTensors lists the tensors with a name or a quantization that their records do not have.
func (d *document) inputTensors() []*inputTensor {
	var list []*inputTensor
	for i, id := range d.numbering.ids {
		t := &d.schema.Tensors[i]
		_, isID := parseDecimal(t.Name, 32)
		if !isID || t.Quant != nil {
			list = append(list, &inputTensor{index: i, id: id, named: isID})
		}
	}
	return list
}

// describe adds the parameters of inputs to operators, which it copies: quantization, unless
// operators have some already, and, with KeepNames, the names of constants, each in the first
// operator that consumes it. It adds operators to a schema without any, and lists what no operator
// holds.
func (d *document) describe(ops []Operator, keepNames bool) ([]Operator, error) {
	tensors := d.inputTensors()
	if keepNames && len(ops) == 0 {
		ops = d.nameOperators(tensors)
	}
	ops = slices.Clone(ops)
	known := quantizationsOf(ops)
	byID := make(map[uint32]*inputTensor, len(tensors))
	for _, t := range tensors {
		byID[t.id] = t
	}
	for k := range ops {
		d.describeInputs(&ops[k], byID, known, keepNames)
	}
	for _, t := range tensors {
		err := d.describeLosses(t, known[t.id])
		if err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// describeInputs adds the parameters of the inputs of an operator. known is the quantization that
// operators have already.
func (d *document) describeInputs(op *Operator, byID map[uint32]*inputTensor,
	known map[uint32]*tensor.Quantization, keepNames bool) {
	var names, quants []Param
	for input, id := range op.Inputs {
		t := byID[id]
		if t == nil {
			continue
		}
		t.consumed = true
		info := &d.schema.Tensors[t.index]
		name := inputParam(input, tensorName, info.Name)
		_, taken := op.Param(name.Name)
		if keepNames && !t.named && !taken && input < mostNames {
			names = append(names, name)
			t.named = true
		}
		if info.Quant != nil && known[id] == nil {
			quants = append(quants, quantParams(input, info.Quant)...)
		}
	}
	op.Params = slices.Concat(op.Params, names, quants)
}

// describeLosses lists what no operator holds of a tensor. known is the quantization that operators
// of the schema have for it.
func (d *document) describeLosses(t *inputTensor, known *tensor.Quantization) error {
	info := &d.schema.Tensors[t.index]
	if !t.named {
		d.losses.Renamed(d.schema, t.index, "MOBI numbers its tensors")
	}
	if known == nil || info.Quant == nil {
		d.quantLoss(t.index, info, t.consumed)
		return nil
	}
	if !known.Equal(info.Quant) {
		return wire.Refuse(formatName, fmt.Sprintf("tensor %q", info.Name),
			"%w: they differ from those in the operators of the graph", format.ErrQuantization)
	}
	return nil
}

// quantLoss lists the quantization of tensor i if no operator can hold it.
func (d *document) quantLoss(i int, t *tensor.Info, consumed bool) {
	var err error
	switch {
	case t.Quant == nil:
	case t.Quant.Scheme != tensor.Linear:
		err = fmt.Errorf("%w: %v quantization", format.ErrUnsupported, t.Quant.Scheme)
	case !sound(t.Quant, t.DType, t.Shape):
		err = fmt.Errorf("%w: they do not fit %v %v", format.ErrQuantization, t.DType, t.Shape)
	case !consumed:
		err = fmt.Errorf("%w: MOBI stores quantization parameters in the operators "+
			"that consume a constant, and there are none", format.ErrUnsupported)
	}
	if err != nil {
		d.losses.Quantization(d.schema, i, err)
	}
}

// quantParams returns the quantization parameters of an input.
func quantParams(input int, q *tensor.Quantization) []Param {
	params := []Param{inputParam(input, scale, q.Scales)}
	if q.Axis == tensor.PerTensor && len(q.Scales) == 1 {
		params[0].Value = q.Scales[0]
	}
	switch {
	case len(q.ZeroPoints) == 1:
		params = append(params, inputParam(input, zeroPoint, q.ZeroPoints[0]))
	case len(q.ZeroPoints) > 1:
		params = append(params, inputParam(input, zeroPoint, q.ZeroPoints))
	}
	if q.Axis != tensor.PerTensor {
		params = append(params, inputParam(input, axis, int32(q.Axis)))
	}
	return params
}
