package convert

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// node is a node in ONNX's operators, version 17, the intermediate form of all translations.
// Attribute values are int64, []int64, float32 or string. The target shape of Reshape is the
// attribute "shape".
type node struct {
	*operator
	op, name string
	in, out  []string
	attrs    map[string]any // those with a default are never missing
}

// newNode returns a node with the default attributes of a known operator.
func newNode(op, name string, in, out []string) *node {
	n := &node{operators[op], op, name, slices.Clone(in), slices.Clone(out), map[string]any{}}
	for name, def := range n.defaults {
		switch def.(type) {
		case int64, float32, string:
			n.attrs[name] = def
		}
	}
	return n
}

// dims is a shape that may be partly known. Negative numbers are symbolic dims: equal numbers other
// than unknown mean equal dims. Nil is an unknown shape.
type dims []int64

const unknown = -1

// mostDims limits known shapes: each node that uses a value allocates lists of its rank.
const mostDims = 64

// shapeOf returns the shape of a tensor.
func shapeOf(s tensor.Shape) dims {
	if len(s) > mostDims {
		return nil
	}
	return append(dims{}, s...)
}

// operator describes an operator of ONNX.
type operator struct {
	// fewest and most are the numbers of inputs.
	fewest, most int
	// defaults are those of the attributes: nil for a number without default, []int64(nil) for such
	// a list. A list of one number means that number for each axis.
	defaults map[string]any
	// infer returns the shape of the output. It converts equivalent forms of a node to one form, as
	// far as shapes are known.
	infer func(n *node, in []dims) dims
}

// operators are the operators that some format's vocabulary has.
var operators = map[string]*operator{
	"Conv": {2, 3, map[string]any{"auto_pad": "NOTSET", "dilations": []int64{1}, "group": int64(1), "kernel_shape": []int64(nil), "pads": []int64{0},
		"strides": []int64{1}}, windowed},
	"MaxPool": {1, 1, map[string]any{"auto_pad": "NOTSET", "ceil_mode": int64(0), "dilations": []int64{1}, "kernel_shape": []int64(nil), "pads": []int64{0},
		"storage_order": int64(0), "strides": []int64{1}}, windowed},
	"AveragePool": {1, 1, map[string]any{"auto_pad": "NOTSET", "ceil_mode": int64(0), "count_include_pad": int64(0), "dilations": []int64{1},
		"kernel_shape": []int64(nil), "pads": []int64{0}, "strides": []int64{1}}, windowed},
	"GlobalAveragePool":  {1, 1, nil, unchanged},
	"Gemm":               {2, 3, map[string]any{"alpha": float32(1), "beta": float32(1), "transA": int64(0), "transB": int64(0)}, gemm},
	"MatMul":             {2, 2, nil, matmul},
	"BatchNormalization": {5, 5, map[string]any{"epsilon": float32(1e-5), "momentum": float32(0.9), "spatial": int64(1), "training_mode": int64(0)}, untrained},
	"LayerNormalization": {2, 3, map[string]any{"axis": int64(-1), "epsilon": float32(1e-5), "stash_type": int64(1)}, alongAxis},
	"Relu":               {1, 1, nil, unchanged},
	"Sigmoid":            {1, 1, nil, unchanged},
	"Tanh":               {1, 1, nil, unchanged},
	"Identity":           {1, 1, nil, unchanged},
	"Dropout":            {1, 2, map[string]any{"ratio": float32(0.5), "seed": nil}, untrained},
	"Softmax":            {1, 1, map[string]any{"axis": int64(-1)}, alongAxis},
	"Add":                {2, 2, nil, broadcast},
	"Sub":                {2, 2, nil, broadcast},
	"Mul":                {2, 2, nil, broadcast},
	"Div":                {2, 2, nil, broadcast},
	"Concat":             {1, 1 << 16, map[string]any{"axis": nil}, concatenated},
	"Reshape":            {1, 1, map[string]any{"allowzero": int64(0), "shape": []int64(nil)}, reshaped},
	"Flatten":            {1, 1, map[string]any{"axis": int64(1)}, flattened},
	"Transpose":          {1, 1, map[string]any{"perm": []int64(nil)}, transposed},
}

// integer returns an integer attribute.
func (n *node) integer(name string) int64 {
	v, _ := n.attrs[name].(int64)
	return v
}

// list returns a list attribute.
func (n *node) list(name string) []int64 {
	v, _ := n.attrs[name].([]int64)
	return v
}

// isDefault reports whether a value equals the operator's default.
func isDefault(value, def any) bool {
	list, ok := value.([]int64)
	if number, _ := def.([]int64); ok && len(number) == 1 {
		return !slices.ContainsFunc(list, func(x int64) bool { return x != number[0] })
	}
	return equal(value, def)
}

// equal compares values of attributes.
func equal(a, b any) bool {
	x, isX := a.(float32)
	y, isY := b.(float32)
	if isX && isY {
		return math.Float32bits(x) == math.Float32bits(y) // -0 is not 0
	}
	return reflect.DeepEqual(a, b)
}

func sameType(a, b any) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

func unchanged(_ *node, in []dims) dims { return in[0] }

// untrained removes what only training needs.
func untrained(n *node, in []dims) dims {
	maps.DeleteFunc(n.attrs, func(name string, _ any) bool { return name == "momentum" || name == "ratio" || name == "seed" })
	return in[0]
}

// alongAxis writes the last axis as -1.
func alongAxis(n *node, in []dims) dims {
	if rank := int64(len(in[0])); rank > 0 && n.integer("axis") == rank-1 {
		n.attrs["axis"] = int64(-1)
	}
	return in[0]
}

// axis returns the attribute axis of a node with the input x, and counts it from the first one.
func (n *node) axis(x dims) int64 {
	axis := n.integer("axis")
	if axis < 0 && x != nil {
		axis += int64(len(x))
		n.attrs["axis"] = axis
	}
	return axis
}

// windowed returns the shape of the output of a window that slides over an image. It adds the lists
// that are missing, and replaces auto_pad with pads.
func windowed(n *node, in []dims) dims {
	x := in[0]
	if n.op == "Conv" && len(in[1]) > 2 && n.attrs["kernel_shape"] == nil {
		n.attrs["kernel_shape"] = []int64(slices.Clone(in[1][2:]))
	}
	if auto := n.attrs["auto_pad"]; auto == "VALID" || auto == "" {
		n.attrs["auto_pad"] = "NOTSET"
		if auto == "VALID" {
			delete(n.attrs, "pads")
		}
	}
	kernel := n.list("kernel_shape")
	axes := max(0, len(x)-2)
	if x == nil {
		axes = len(kernel)
	}
	complete := func(name string, length int) []int64 {
		if n.attrs[name] == nil {
			n.attrs[name] = slices.Repeat(n.defaults[name].([]int64), length)
		}
		return n.list(name)
	}
	strides := complete("strides", axes)
	dilations := complete("dilations", axes)
	pads := complete("pads", 2*axes)
	if len(x) < 3 {
		return nil
	}
	isKnown := len(kernel) == axes && len(strides) == axes && len(dilations) == axes
	if auto := n.attrs["auto_pad"]; auto != "NOTSET" {
		pads = nil
		if isKnown {
			pads = samePads(x[2:], kernel, strides, dilations, auto == "SAME_LOWER")
		}
		if pads != nil {
			n.attrs["auto_pad"] = "NOTSET"
			n.attrs["pads"] = pads
		}
	}
	isKnown = isKnown && len(pads) == 2*axes && n.integer("ceil_mode") == 0
	out := slices.Clone(x)
	for i, d := range x[2:] {
		out[2+i] = unknown
		if isKnown && d >= 0 && strides[i] >= 1 {
			out[2+i] = max(unknown, (d+pads[i]+pads[axes+i]-(kernel[i]-1)*dilations[i]-1)/strides[i]+1)
		}
	}
	if n.op == "Conv" {
		if len(in[1]) != len(x) {
			return nil
		}
		out[1] = in[1][0]
	}
	return out
}

// samePads returns the pads of an image for an output of its size divided by the strides, or nil.
func samePads(x dims, kernel, strides, dilations []int64, lower bool) []int64 {
	pads := make([]int64, 2*len(x))
	for i, d := range x {
		if d < 0 || strides[i] < 1 {
			return nil
		}
		out := (d + strides[i] - 1) / strides[i]
		total := max(0, (out-1)*strides[i]+(kernel[i]-1)*dilations[i]+1-d)
		pads[i] = total / 2
		pads[len(x)+i] = total - total/2
		if lower {
			pads[i], pads[len(x)+i] = pads[len(x)+i], pads[i]
		}
	}
	return pads
}

func gemm(n *node, in []dims) dims {
	a := in[0]
	b := in[1]
	if len(a) != 2 || len(b) != 2 {
		return nil
	}
	return dims{a[n.integer("transA")&1], b[1-n.integer("transB")&1]}
}

func matmul(_ *node, in []dims) dims {
	a := in[0]
	b := in[1]
	if len(a) < 2 || len(b) != 2 {
		return nil
	}
	return append(slices.Clone(a[:len(a)-1]), b[1])
}

func broadcast(_ *node, in []dims) dims {
	a := in[0]
	b := in[1]
	if a == nil || b == nil {
		return nil
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		switch at := &out[len(a)-len(b)+i]; {
		case *at == d || d == 1:
		case *at == 1 || *at < 0 && d > 1:
			*at = d
		case d < 0 && *at < 0:
			*at = unknown
		}
	}
	return out
}

func concatenated(n *node, in []dims) dims {
	k := n.axis(in[0])
	out := slices.Clone(in[0])
	for i, d := range in {
		switch {
		case k < 0 || k >= int64(len(d)) || len(d) != len(out):
			return nil
		case i == 0:
		case out[k] < 0 || d[k] < 0:
			out[k] = unknown
		default:
			out[k] += d[k]
		}
	}
	return out
}

// reshaped replaces dims of 0, which copy the input's dim.
func reshaped(n *node, in []dims) dims {
	x := in[0]
	shape := slices.Clone(n.list("shape"))
	if shape == nil {
		return nil
	}
	out := dims(slices.Clone(shape))
	inferred := -1
	rest := int64(1)
	for i, d := range out {
		if d == 0 && i < len(x) && n.integer("allowzero") == 0 {
			out[i] = x[i]
			if x[i] >= 0 || !slices.Contains(shape, unknown) {
				shape[i] = max(x[i], unknown)
			}
		}
		if shape[i] < 0 {
			inferred = i
		} else {
			rest *= out[i]
		}
	}
	if inferred >= 0 {
		out[inferred] = unknown
		if total := product(x); total >= 0 && rest > 0 {
			out[inferred] = total / rest
		}
	}
	n.attrs["shape"] = shape
	return out
}

// product returns the number of elements. It is unknown if one of several dims is.
func product(d dims) int64 {
	if len(d) == 1 {
		return d[0]
	}
	n, err := tensor.Shape(d).Elems()
	if err != nil || d == nil {
		return unknown
	}
	return n
}

func flattened(n *node, in []dims) dims {
	x := in[0]
	axis := n.axis(in[0])
	if x == nil || axis < 0 || axis > int64(len(x)) {
		return nil
	}
	return dims{product(x[:axis]), product(x[axis:])}
}

func transposed(n *node, in []dims) dims {
	x := in[0]
	perm := n.list("perm")
	if x == nil || perm != nil && len(perm) != len(x) {
		return nil
	}
	out := slices.Clone(x)
	slices.Reverse(out)
	for i, p := range perm {
		if p < 0 || p >= int64(len(x)) {
			return nil
		}
		out[i] = x[p]
	}
	return out
}
