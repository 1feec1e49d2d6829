package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// readONNX reads a node in ONNX's operators of the source's version.
func (t *translator) readONNX(in *schema.Node) ([]*node, error) {
	switch {
	case in.Op == "Constant" && in.Domain == "":
		return nil, t.constant(in)
	case in.Op == "DequantizeLinear" && in.Domain == "":
		return nil, t.quantized(in)
	case operators[in.Op] == nil || in.Domain != "" && in.Domain != "ai.onnx":
		return nil, unsupported("%s has no operator for it", t.format)
	case t.version < oldestVersion:
		return nil, unsupported("ONNX operator set %d is not supported, only %d and later", t.version,
			oldestVersion)
	}
	n := newNode(in.Op, in.Name, in.Inputs, in.Outputs)
	for len(n.in) > 0 && n.in[len(n.in)-1] == "" {
		n.in = n.in[:len(n.in)-1]
	}
	for len(n.out) > 1 && n.out[len(n.out)-1] == "" {
		n.out = n.out[:len(n.out)-1]
	}
	if len(n.in) < n.fewest {
		return nil, unsupported("%d inputs are not supported", len(n.in))
	}
	if n.op == "Softmax" && t.version < 13 {
		n.attrs["axis"] = int64(1)
	}
	for _, a := range in.Attributes {
		def, known := n.defaults[a.Name]
		if def == nil {
			def = int64(0)
		}
		value := neutral(a.Value)
		if !known || !sameType(value, def) {
			return nil, unsupported("attribute %q (%s) is not supported", a.Name, schema.TypeName(a.Value))
		}
		n.attrs[a.Name] = value
	}
	switch n.op {
	case "GlobalAveragePool":
		// It is a pool of the image's size.
		if x := t.at(n.in[0]).shape; len(x) > 2 && slices.Min(x[2:]) > 0 {
			n = newNode("AveragePool", n.name, n.in, n.out)
			n.attrs["kernel_shape"] = []int64(slices.Clone(x[2:]))
		}
	case "Reshape":
		return []*node{n}, t.targetShape(n)
	case "Dropout":
		if len(n.in) == 2 { // a ratio without training_mode has no effect on inference
			n.in = n.in[:1]
		}
	case "Softmax":
		return []*node{n}, t.coerced(n)
	}
	return []*node{n}, nil
}

// constant converts a Constant node to a tensor of the model.
func (t *translator) constant(in *schema.Node) error {
	var v tensor.View
	ok := len(in.Attributes) == 1 && len(in.Outputs) == 1
	if ok {
		v, ok = in.Attributes[0].Value.(tensor.View)
	}
	if !ok {
		return unsupported("only constants that are tensors are supported")
	}
	data := make([]byte, v.Info().Size)
	if _, err := v.ReadInto(data); err != nil {
		return err
	}
	_, err := t.add(tensor.FromBytes(in.Outputs[0], v.DType(), v.Shape(), data))
	return err
}

// targetShape converts Reshape's shape input to an attribute.
func (t *translator) targetShape(n *node) error {
	if len(n.in) != 2 {
		return unsupported("%d inputs are not supported", len(n.in))
	}
	it := t.at(n.in[1]).tensor
	if it == nil {
		return unsupported("the shape %q is computed", n.in[1])
	}
	v := it.from
	if v.DType() != tensor.Int64 || len(v.Shape()) != 1 || v.Elems() > mostDims {
		return unsupported("the shape %q is a %v tensor of shape %v", n.in[1], v.DType(), v.Shape())
	}
	shape, err := tensor.Decode([]int64{}, v)
	if err != nil {
		return err
	}
	n.attrs["shape"] = shape
	n.in = n.in[:1]
	return nil
}

// coerced checks that Softmax means the same as since version 13. Earlier versions flattened all
// dims from the axis on.
func (t *translator) coerced(n *node) error {
	if t.version >= 13 {
		return nil
	}
	x := t.at(n.in[0]).shape
	axis := n.axis(x)
	if x == nil || axis < 0 || axis >= int64(len(x)) || product(x[axis+1:]) != 1 {
		return unsupported("before operator set 13 it flattens the dims from %d on, of %v", axis, x)
	}
	return nil
}

// neutral converts an attribute's value to the type used between formats.
func neutral(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case int32:
		return int64(v)
	case float64:
		return float32(v)
	case []int32:
		wide := make([]int64, len(v))
		for i, x := range v {
			wide[i] = int64(x)
		}
		return wide
	}
	return v
}

// read reads a node in the operators of the source's format.
func (t *translator) read(in *schema.Node) ([]*node, error) {
	at := slices.IndexFunc(t.from, func(o driver.Operator) bool { return o.Name == in.Op })
	if at < 0 || in.Domain != "" {
		return nil, unsupported("no other format has this operator")
	}
	o := &t.from[at]
	if operators[o.ONNX] == nil {
		return nil, unsupported("it stands for %s, which is unknown", o.ONNX)
	}
	n := newNode(o.ONNX, in.Name, in.Inputs, in.Outputs)
	if len(n.in) < n.fewest {
		return nil, unsupported("%d inputs are not supported", len(n.in))
	}
	left := map[string]any{}
	for _, a := range in.Attributes {
		left[a.Name] = neutral(a.Value)
	}
	for i := range o.Attributes {
		a := &o.Attributes[i]
		v, err := take(left, a)
		if err != nil {
			return nil, err
		}
		if other, ok := v.(string); ok && a.Default == v {
			v = n.attrs[other]
		}
		if list, ok := v.([]int64); ok && a.Symmetric {
			v = slices.Concat(list, list)
		}
		if v != nil {
			n.attrs[a.ONNX] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if err := t.quantizes(o, name, n); err != nil {
			return nil, err
		}
	}
	if o.Depthwise {
		w := t.at(n.in[1]).shape
		if len(w) < 3 || w[0] < 1 || w[1] != 1 {
			return nil, unsupported("weights of shape %v are not supported", w)
		}
		n.attrs["group"] = w[0]
	}
	if o.Flattens && len(t.at(n.in[0]).shape) != 2 {
		flat := newNode("Flatten", "", n.in[:1], []string{t.fresh(n.in[0] + "_flat")})
		n.in[0] = flat.out[0]
		return []*node{flat, n}, nil
	}
	return []*node{n}, nil
}

// quantizes refuses an attribute that is not a quantization parameter of an input whose tensor has
// it too.
func (t *translator) quantizes(o *driver.Operator, attribute string, n *node) error {
	input := 0
	ok := false
	if o.Quantizes != nil {
		input, ok = o.Quantizes(attribute)
	}
	if !ok {
		return unsupported("attribute %q is not supported", attribute)
	}
	if input < len(n.in) {
		if it := t.at(n.in[input]).tensor; it != nil && it.to.Quant != nil {
			return nil
		}
	}
	return unsupported("attribute %q belongs to an input that is not quantized", attribute)
}

// take removes an attribute from those of a node, and returns it in ONNX's form, or its default.
func take(attrs map[string]any, a *driver.Attribute) (any, error) {
	var list []int64
	def, _ := a.Default.([]int64)
	for i, name := range a.Names {
		v, ok := attrs[name]
		if !ok && !spread(a) {
			continue
		}
		delete(attrs, name)
		if !ok && i < len(def) {
			v = def[i]
		}
		if !sameType(v, neutral(a.Value)) {
			return nil, unsupported("attribute %q is a %s", name, schema.TypeName(v))
		}
		if !spread(a) {
			return v, nil
		}
		list = append(list, v.(int64))
	}
	if spread(a) {
		return list, nil
	}
	return a.Default, nil
}

// spread reports whether each number of a list is an attribute.
func spread(a *driver.Attribute) bool { return len(a.Names) > 1 && !a.Alias }

// express converts a node to an operator of the target's format.
func (t *translator) express(o *driver.Operator, n *node, in []dims) (schema.Node, error) {
	out := schema.Node{Name: n.name, Op: o.Name, Inputs: n.in, Outputs: n.out}
	if err := fits(o, n, in); err != nil {
		return out, err
	}
	stated := map[string]bool{"group": o.Depthwise}
	for i := range o.Attributes {
		a := &o.Attributes[i]
		v := n.attrs[a.ONNX]
		if v == nil && a.Default == nil {
			continue
		}
		stated[a.ONNX] = true
		if len(a.Names) == 0 && !equal(v, a.Default) {
			return out, unsupported("%s has %s %v, not %v", o.Name, a.ONNX, a.Default, v)
		}
		list, err := written(a, v)
		if err != nil {
			return out, err
		}
		out.Attributes = append(out.Attributes, list...)
	}
	for _, name := range slices.Sorted(maps.Keys(n.attrs)) {
		v := n.attrs[name]
		isKernel := name == "kernel_shape" && n.op == "Conv" && len(in[1]) > 2 &&
			slices.Equal(v.([]int64), in[1][2:])
		if !stated[name] && !isKernel && !isDefault(v, n.defaults[name]) {
			return out, unsupported("%s cannot store %s %v", o.Name, name, v)
		}
	}
	return out, t.fillUp(&out, o, n, in)
}

// fits checks a node's inputs and its shape against an operator's requirements.
func fits(o *driver.Operator, n *node, in []dims) error {
	rank := len(in[0])
	group := n.integer("group")
	shape := n.list("shape")
	weights := dims(nil)
	if kernel := n.list("kernel_shape"); in[0] == nil && kernel != nil {
		rank = len(kernel) + 2
	}
	if len(in) > 1 {
		weights = in[1]
	}
	differs := func(d dims) bool {
		return d == nil || !slices.Equal(d, in[0]) ||
			slices.Contains(d, unknown)
	}
	switch {
	case o.Rank != 0 && rank != o.Rank:
		return unsupported("%s takes %d dims, not %v", o.Name, o.Rank, in[0])
	case o.SameShape && slices.ContainsFunc(in, differs):
		return unsupported("%s takes inputs of one shape, not %v", o.Name, in)
	case o.Depthwise && (group < 2 || len(weights) < 3 || weights[0] != group || weights[1] != 1):
		return unsupported("%s takes as many groups as channels, not %d with weights %v", o.Name, group,
			weights)
	case n.op == "MatMul" && o.Rank != 0 && len(weights) != o.Rank:
		return unsupported("%s takes %d dims, not %v", o.Name, o.Rank, weights)
	case n.op == "Gemm" && len(in) == 3 && (len(weights) != 2 || len(in[2]) != 1 ||
		in[2][0] != weights[1-n.integer("transB")&1]):
		return unsupported("%s takes a bias for each column, not %v", o.Name, in[2])
	case slices.Contains(shape, 0):
		return unsupported("%s to %v needs dims of the input that are unknown", o.Name, shape)
	}
	return nil
}

// written converts an attribute to the target's format.
func written(a *driver.Attribute, v any) (out []schema.Attribute, err error) {
	list, _ := v.([]int64)
	if half := len(list) / 2; a.Symmetric {
		if !slices.Equal(list[:half], list[half:]) {
			return nil, unsupported("%s %v differ at the two ends of an axis", a.ONNX, v)
		}
		list = list[:half]
		v = list
	}
	if len(a.Names) == 0 || spread(a) && len(list) == len(a.Names) {
		for i, name := range a.Names {
			out = append(out, schema.Attribute{Name: name, Value: list[i]})
		}
		return out, nil
	}
	if spread(a) || !sameType(v, neutral(a.Value)) {
		return nil, unsupported("%s %v is not supported", a.ONNX, v)
	}
	switch a.Value.(type) {
	case bool:
		v = v != int64(0)
	case []int32:
		narrow := make([]int32, len(list))
		for i, x := range list {
			if x < math.MinInt32 || x > math.MaxInt32 {
				return nil, fmt.Errorf("%w: %s %v", format.ErrLimit, a.ONNX, v)
			}
			narrow[i] = int32(x)
		}
		v = narrow
	}
	return []schema.Attribute{{Name: a.Names[0], Value: v}}, nil
}

// fillUp adds a bias of zeros if the operator needs a bias.
func (t *translator) fillUp(out *schema.Node, o *driver.Operator, n *node, in []dims) error {
	if len(n.in) >= o.Inputs {
		return nil
	}
	it := t.at(n.in[1]).tensor
	if it == nil || len(n.in) != 2 || o.Inputs != 3 || len(in[1]) == 0 {
		return unsupported("%s takes %d inputs, not %d", o.Name, o.Inputs, len(n.in))
	}
	w := it.to
	size := tensor.Shape{in[1][0]}
	d := w.DType
	if n.op == "LayerNormalization" {
		size = tensor.Shape(in[1])
	}
	if w.Quant != nil || !d.Valid() {
		d = tensor.Float32
	}
	room, err := size.ByteSize(d)
	if err != nil || room > 8*w.Size {
		return unsupported("weights of shape %v are not supported", in[1])
	}
	name, err := t.add(tensor.FromBytes(t.fresh(n.out[0]+"_bias"), d, size, make([]byte, room)))
	out.Inputs = append(slices.Clone(n.in), name)
	return err
}
