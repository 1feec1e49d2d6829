package convert

import (
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/opsets"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// dequantize adds DequantizeLinear nodes for quantized tensors, if the target uses ONNX's operators
// and cannot store quantization parameters.
func (j *job) dequantize() error {
	vocabulary, ok := j.driver.(driver.Vocabulary)
	if !ok || vocabulary.Operators() != nil || j.plan.schema.Graph == nil ||
		len(j.plan.schema.Graph.Nodes) == 0 || len(j.plan.gaps) > 0 {
		return nil
	}
	without := map[string]bool{}
	for _, l := range j.losses(&schema.Schema{Tensors: j.plan.infos()}) {
		without[l.Name] = without[l.Name] || l.Kind == schema.LossQuantization
	}
	t := newTranslator(j.plan.schema, j.plan.items, "")
	g := t.graph
	fixed := map[string]bool{} // inputs and outputs of the graph
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		fixed[v.Name] = true
	}
	real := map[string]string{}
	for _, it := range t.items {
		info := &it.to
		q := it.to.Quant
		if !without[info.Name] || fixed[info.Name] || q.Scheme != tensor.Linear ||
			q.Check(info.DType, info.Shape) != nil || !bytesHold(q, info.DType) {
			continue
		}
		// Parameters along an axis need version 13.
		if set := operatorSet(j.plan.schema); set < 10 || set < 13 && q.Axis != tensor.PerTensor {
			continue
		}
		n, err := t.dequantizing(info.Name, info.DType, q)
		if err != nil {
			return err
		}
		t.nodes = append(t.nodes, n)
		real[info.Name] = n.Outputs[0]
		info.Quant = nil
	}
	g.Walk(func(g *schema.Graph) {
		for _, n := range g.Nodes {
			rename(n.Inputs, real)
		}
	})
	g.Nodes = append(t.nodes, g.Nodes...)
	j.plan.schema.Docs = schema.Renumber(j.plan.schema.Docs, "graph.nodes",
		func(old int) int { return old + len(t.nodes) })
	j.plan.items = t.items
	j.plan.schema.Graph = g
	return nil
}

// operatorSet returns the version of ONNX's operators in the graph of a plan. Of several that a
// model imports, the highest counts.
func operatorSet(p *schema.Schema) int64 {
	highest := int64(math.MinInt64)
	for _, s := range opsets.In(p.Metadata) {
		if s.Domain == "" || s.Domain == "ai.onnx" {
			highest = max(highest, s.Version)
		}
	}
	if highest == math.MinInt64 {
		return version
	}
	return highest
}

// losses returns what the target cannot hold of a schema. format.Create returns an error of the
// options.
func (j *job) losses(s *schema.Schema) []schema.Loss {
	o := j.target
	o.AcceptLoss = nil
	list, _ := format.Losses(j.path, s, &o)
	return list
}

// infos returns the descriptions of the target's tensors.
func (p *plan) infos() []tensor.Info {
	list := make([]tensor.Info, len(p.items))
	for i, it := range p.items {
		list[i] = it.to
		list[i].Size = it.size()
	}
	return list
}

// size returns the number of bytes of the tensor in the target.
func (it *item) size() int64 {
	size, err := it.to.ByteSize()
	if err != nil { // only the format knows it
		return it.to.Size
	}
	return size
}

// dequantizing returns a DequantizeLinear node for a tensor, and adds tensors for its parameters.
func (t *translator) dequantizing(name string, d tensor.DType,
	q *tensor.Quantization) (n schema.Node, err error) {
	var shape tensor.Shape
	if q.Axis != tensor.PerTensor {
		shape = tensor.Shape{int64(len(q.Scales))}
		n.Attributes = []schema.Attribute{{Name: "axis", Value: int64(q.Axis)}}
	}
	zeros := make([]byte, len(q.Scales))
	for i := range zeros {
		if len(q.ZeroPoints) > 0 {
			zeros[i] = byte(q.ZeroPoints[min(i, len(q.ZeroPoints)-1)])
		}
	}
	n.Op = "DequantizeLinear"
	n.Inputs = []string{name, "", ""}
	n.Outputs = []string{t.fresh(name + "_real")}
	n.Inputs[1], err = t.add(tensor.Of(t.fresh(name+"_scale"), shape, q.Scales))
	if err != nil {
		return n, err
	}
	n.Inputs[2], err = t.add(tensor.FromBytes(t.fresh(name+"_zero_point"), d, shape, zeros))
	return n, err
}

// bytesHold reports whether the zero points fit the dtype.
func bytesHold(q *tensor.Quantization, d tensor.DType) bool {
	own, _ := spanOf(d)
	return d.Size() == 1 && !slices.ContainsFunc(q.ZeroPoints,
		func(z int32) bool { return !own.holds(int64(z), int64(z)) })
}

// quantized converts a DequantizeLinear node to quantization parameters of its tensor.
func (t *translator) quantized(in *schema.Node) error {
	if len(in.Inputs) < 2 || len(in.Inputs) > 3 || len(in.Outputs) != 1 || t.at(in.Outputs[0]).leaves {
		return unsupported("it dequantizes a computed value, or in a form that is not supported")
	}
	var constants [3]tensor.View
	for i, name := range in.Inputs {
		c := t.at(name).tensor
		if c == nil {
			return unsupported("it dequantizes a computed value, or in a form that is not supported")
		}
		constants[i] = c.from
	}
	v, err := quant.Linear(constants[0], constants[1], constants[2], axisOf(in))
	if err != nil {
		return err
	}
	q := v.Info().Quant
	x := &t.at(in.Inputs[0]).tensor.to
	if x.Quant != nil && !x.Quant.Equal(q) {
		return unsupported("another node dequantizes the tensor with other parameters")
	}
	x.Quant = q
	t.at(in.Outputs[0]).alias = in.Inputs[0]
	return nil
}

// axisOf returns the attribute axis of a DequantizeLinear node.
func axisOf(n *schema.Node) int {
	for _, a := range n.Attributes {
		axis, ok := a.Value.(int64)
		if ok && a.Name == "axis" {
			return int(max(math.MinInt32, min(axis, math.MaxInt32)))
		}
	}
	return 1
}
