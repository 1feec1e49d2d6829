package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// dequantize has nodes do what parameters of quantization say, for a target in ONNX's operators that has
// no place for such parameters.
func (t *translator) dequantize(target driver.Driver) error {
	var refused *format.LossError
	if _, err := driver.Fit(target, &format.Plan{Tensors: t.infos}, &driver.WriteOptions{}, nil); !errors.As(err, &refused) {
		return nil
	}
	without := map[string]bool{}
	for _, l := range refused.Losses {
		without[l.Name] = without[l.Name] || l.Kind == format.LossQuantization
	}
	real := map[string]string{}
	var nodes []format.Node
	for i := range t.infos {
		info := &t.infos[i]
		q := info.Quant
		if q == nil || !without[info.Name] || q.Scheme != tensor.Linear || q.Check(info.DType, info.Shape) != nil || !bytesHold(q, info.DType) {
			continue
		}
		n, err := t.dequantizing(info.Name, info.DType, q)
		if err != nil {
			return err
		}
		nodes = append(nodes, n)
		real[info.Name] = n.Outputs[0]
		t.infos[i].Quant = nil
	}
	for i := range t.nodes {
		for k, name := range t.nodes[i].Inputs {
			if other, ok := real[name]; ok {
				t.nodes[i].Inputs[k] = other
			}
		}
	}
	t.nodes = append(nodes, t.nodes...)
	return nil
}

// dequantizing makes the node of one tensor, and the tensors with its parameters.
func (t *translator) dequantizing(name string, d tensor.DType, q *tensor.Quantization) (n format.Node, err error) {
	var shape tensor.Shape
	if q.Axis != tensor.PerTensor {
		shape = tensor.Shape{int64(len(q.Scales))}
		n.Attributes = []format.Attribute{{Name: "axis", Value: int64(q.Axis)}}
	}
	var scales, zeros []byte
	for i, s := range q.Scales {
		scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(s))
		zero := int32(0)
		if len(q.ZeroPoints) > 0 {
			zero = q.ZeroPoints[min(i, len(q.ZeroPoints)-1)]
		}
		zeros = append(zeros, byte(zero))
	}
	n.Op, n.Inputs, n.Outputs = "DequantizeLinear", []string{name, "", ""}, []string{t.fresh(name + "_real")}
	if n.Inputs[1], err = t.add(t.fresh(name+"_scale"), tensor.Float32, shape, scales); err == nil {
		n.Inputs[2], err = t.add(t.fresh(name+"_zero_point"), d, shape, zeros)
	}
	return n, err
}

// bytesHold reports whether the node has zero points of that dtype.
func bytesHold(q *tensor.Quantization, d tensor.DType) bool {
	low, high := int32(math.MinInt8), int32(math.MaxInt8)
	if d == tensor.Uint8 {
		low, high = 0, math.MaxUint8
	}
	return (d == tensor.Int8 || d == tensor.Uint8) && !slices.ContainsFunc(q.ZeroPoints, func(z int32) bool { return z < low || z > high })
}

// quantized makes parameters of a tensor of a node that dequantizes it.
func (t *translator) quantized(in *format.Node) error {
	refuse := fmt.Errorf("%w: it dequantizes what is no constant, or in a form that is not known", format.ErrUnsupported)
	if len(in.Inputs) < 2 || len(in.Inputs) > 3 || len(in.Outputs) != 1 || t.uses[in.Outputs[0]].leaves {
		return refuse
	}
	constants := make([]int, len(in.Inputs))
	for i, name := range in.Inputs {
		at, ok := t.tensors[name]
		if !ok {
			return refuse
		}
		constants[i] = at
	}
	x, scale := &t.infos[constants[0]], t.infos[constants[1]]
	if x.DType != tensor.Int8 && x.DType != tensor.Uint8 || scale.DType != tensor.Float32 || len(scale.Shape) > 1 {
		return refuse
	}
	q := &tensor.Quantization{Axis: tensor.PerTensor}
	var err error
	if q.Scales, err = tensor.Decode[float32](nil, t.views[constants[1]]); err != nil {
		return err
	}
	if len(scale.Shape) == 1 && len(q.Scales) != 1 {
		axis := int64(1)
		for _, a := range in.Attributes {
			if v, ok := a.Value.(int64); a.Name == "axis" && ok {
				axis = v
			}
		}
		if axis < 0 {
			axis += int64(len(x.Shape))
		}
		if axis < 0 || axis >= int64(len(x.Shape)) {
			return refuse
		}
		q.Axis = int(axis)
	}
	if len(constants) > 2 {
		zero := t.infos[constants[2]]
		if zero.DType != x.DType || !slices.Equal(zero.Shape, scale.Shape) {
			return refuse
		}
		b := make([]byte, zero.Size)
		if _, err := t.views[constants[2]].ReadInto(b); err != nil {
			return err
		}
		for _, z := range b {
			if x.DType == tensor.Int8 {
				q.ZeroPoints = append(q.ZeroPoints, int32(int8(z)))
			} else {
				q.ZeroPoints = append(q.ZeroPoints, int32(z))
			}
		}
	}
	if err := q.Check(x.DType, x.Shape); err != nil {
		return err
	}
	if x.Quant != nil && !x.Quant.Equal(q) {
		return refuse
	}
	x.Quant = q
	for _, name := range in.Inputs[1:] {
		t.consumed[name] = true
	}
	t.alias[in.Outputs[0]] = in.Inputs[0]
	return nil
}
