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

var inputSuffixes = [...]string{scale: "scale", zeroPoint: "zero_point", axis: "axis", tensorName: "name"}

// inputParam returns a parameter of an input, such as "input1_scale" of the second.
func inputParam(input, kind int, value any) Param {
	return Param{"input" + strconv.Itoa(input) + "_" + inputSuffixes[kind], value}
}

// parseInputParam parses the name of a parameter of an input.
func parseInputParam(name string) (input, kind int, ok bool) {
	rest, ok := strings.CutPrefix(name, "input")
	number, suffix, _ := strings.Cut(rest, "_")
	if kind = slices.Index(inputSuffixes[:], suffix); !ok || kind < 0 {
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

// describe adds the parameters of inputs to operators, which it copies: quantization, unless
// operators have some already, and, with KeepNames, the names of constants, each in the first
// operator that consumes it. It adds operators to a schema without any, and lists what no operator
// holds.
func (d *document) describe(ops []Operator, keepNames bool) (_ []Operator, refusal error) {
	var ids []uint32 // of tensors to describe
	index := map[uint32]int{}
	named := map[int]bool{}
	for i, id := range d.ids {
		t := &d.Tensors[i]
		if _, isID := parseDecimal(t.Name, 32); !isID || t.Quant != nil {
			ids = append(ids, id)
			index[id] = i
			named[i] = isID
		}
	}
	if keepNames && len(ops) == 0 {
		ops = d.nameOperators(ids)
	}
	ops = slices.Clone(ops)
	known := quantizationsOf(ops)
	consumed := map[int]bool{}
	for k := range ops {
		op := &ops[k]
		var names, quants []Param
		for input, id := range op.Inputs {
			i, ok := index[id]
			if !ok {
				continue
			}
			t := &d.Tensors[i]
			name := inputParam(input, tensorName, t.Name)
			if _, taken := op.Param(name.Name); keepNames && !named[i] && !taken && input < mostNames {
				names = append(names, name)
				named[i] = true
			}
			if consumed[i] = true; t.Quant != nil && known[id] == nil {
				quants = append(quants, quantParams(input, t.Quant)...)
			}
		}
		op.Params = slices.Concat(op.Params, names, quants)
	}
	for _, id := range ids {
		i := index[id]
		t := &d.Tensors[i]
		if !named[i] {
			d.losses.Renamed(d.Schema, i, "MOBI numbers its tensors")
		}
		if q := known[id]; q == nil || t.Quant == nil {
			d.quantLoss(i, t, consumed[i])
		} else if !q.Equal(t.Quant) {
			refusal = wire.Refuse(formatName, fmt.Sprintf("tensor %q", t.Name), "%w: they differ from those in the operators of the graph", format.ErrQuantization)
		}
	}
	return ops, refusal
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
		err = fmt.Errorf("%w: MOBI stores quantization parameters in the operators that consume a constant, and there are none", format.ErrUnsupported)
	}
	if err != nil {
		d.losses.Quantization(d.Schema, i, err)
	}
}

// quantParams returns the quantization parameters of an input.
func quantParams(input int, q *tensor.Quantization) []Param {
	params := []Param{inputParam(input, scale, q.Scales)}
	if q.Axis == tensor.PerTensor && len(q.Scales) == 1 {
		params[0].Value = q.Scales[0]
	}
	if n := len(q.ZeroPoints); n == 1 {
		params = append(params, inputParam(input, zeroPoint, q.ZeroPoints[0]))
	} else if n > 1 {
		params = append(params, inputParam(input, zeroPoint, q.ZeroPoints))
	}
	if q.Axis != tensor.PerTensor {
		params = append(params, inputParam(input, axis, int32(q.Axis)))
	}
	return params
}
