package convert

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// node is a node in ONNX's operators, version 17, the intermediate form of all translations. Attribute
// values are int64, []int64, float32 or string. The target shape of Reshape is the attribute "shape".
type node struct {
	op, name string
	in, out  []string
	attrs    map[string]any
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

// fill is the default of a list attribute: this number for each axis.
type fill int64

// operator describes an operator of ONNX.
type operator struct {
	fewest, most int            // number of inputs
	attrs        map[string]any // defaults; nil if none
}

// operators are the operators that some format's vocabulary has.
var operators = map[string]*operator{
	"Conv": {2, 3, map[string]any{"auto_pad": "NOTSET", "dilations": fill(1), "group": int64(1), "kernel_shape": nil, "pads": fill(0), "strides": fill(1)}},
	"MaxPool": {1, 1, map[string]any{"auto_pad": "NOTSET", "ceil_mode": int64(0), "dilations": fill(1), "kernel_shape": nil, "pads": fill(0),
		"storage_order": int64(0), "strides": fill(1)}},
	"AveragePool": {1, 1, map[string]any{"auto_pad": "NOTSET", "ceil_mode": int64(0), "count_include_pad": int64(0), "dilations": fill(1), "kernel_shape": nil,
		"pads": fill(0), "strides": fill(1)}},
	"GlobalAveragePool":  {1, 1, nil},
	"Gemm":               {2, 3, map[string]any{"alpha": float32(1), "beta": float32(1), "transA": int64(0), "transB": int64(0)}},
	"MatMul":             {2, 2, nil},
	"BatchNormalization": {5, 5, map[string]any{"epsilon": float32(1e-5), "momentum": float32(0.9), "spatial": int64(1), "training_mode": int64(0)}},
	"LayerNormalization": {2, 3, map[string]any{"axis": int64(-1), "epsilon": float32(1e-5), "stash_type": int64(1)}},
	"Relu":               {1, 1, nil},
	"Sigmoid":            {1, 1, nil},
	"Tanh":               {1, 1, nil},
	"Identity":           {1, 1, nil},
	"Dropout":            {1, 2, map[string]any{"ratio": float32(0.5), "seed": nil}},
	"Softmax":            {1, 1, map[string]any{"axis": int64(-1)}},
	"Add":                {2, 2, nil},
	"Sub":                {2, 2, nil},
	"Mul":                {2, 2, nil},
	"Div":                {2, 2, nil},
	"Concat":             {1, 1 << 16, map[string]any{"axis": nil}},
	"Reshape":            {1, 1, map[string]any{"allowzero": int64(0), "shape": nil}},
	"Flatten":            {1, 1, map[string]any{"axis": int64(1)}},
	"Transpose":          {1, 1, map[string]any{"perm": nil}},
}

// attr returns an attribute or its default for that number of axes, or nil.
func (n *node) attr(name string, axes int) any {
	if v, ok := n.attrs[name]; ok {
		return v
	}
	def := operators[n.op].attrs[name]
	if f, ok := def.(fill); ok {
		if name == "pads" {
			axes *= 2
		}
		return slices.Repeat([]int64{int64(f)}, axes)
	}
	return def
}

// integer returns an integer attribute.
func (n *node) integer(name string) int64 {
	v, _ := n.attr(name, 0).(int64)
	return v
}

// list returns a list attribute if its length suits that number of axes, else nil.
func (n *node) list(name string, axes int) []int64 {
	v, _ := n.attr(name, axes).([]int64)
	want := axes
	if name == "pads" {
		want *= 2
	}
	if len(v) != want {
		return nil
	}
	return v
}

// isDefault reports whether a value equals the operator's default.
func isDefault(value, def any) bool {
	if f, ok := def.(fill); ok {
		list, ok := value.([]int64)
		return ok && !slices.ContainsFunc(list, func(x int64) bool { return x != int64(f) })
	}
	return equal(value, def)
}

// equal compares values of attributes.
func equal(a, b any) bool { return sameType(a, b) && fmt.Sprint(a) == fmt.Sprint(b) }

func sameType(a, b any) bool { return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) }

// typed reports whether an attribute has the right type.
func typed(name string, value, def any) bool {
	switch _, isFill := def.(fill); {
	case isFill || def == nil && name != "axis" && name != "seed":
		_, ok := value.([]int64)
		return ok
	case def == nil:
		_, ok := value.(int64)
		return ok
	}
	return sameType(value, def)
}

// shapes lists functions that return the shape of an output, where it is not that of the first input.
var shapes = map[string]func(n *node, in []dims) dims{
	"Conv": windowed, "MaxPool": windowed, "AveragePool": windowed, "GlobalAveragePool": windowed, "Gemm": gemm, "MatMul": matmul,
	"Add": broadcast, "Sub": broadcast, "Mul": broadcast, "Div": broadcast,
	"Concat": concatenated, "Reshape": reshaped, "Flatten": flattened, "Transpose": transposed,
}

// windowed returns the shape of the output of a window that slides over an image.
func windowed(n *node, in []dims) dims {
	x := in[0]
	if len(x) < 3 {
		return nil
	}
	axes := len(x) - 2
	out := slices.Clone(x)
	if n.op == "Conv" {
		if len(in[1]) != len(x) {
			return nil
		}
		out[1] = in[1][0]
	}
	kernel, strides, pads, dilations := n.list("kernel_shape", axes), n.list("strides", axes), n.list("pads", axes), n.list("dilations", axes)
	for i := range axes {
		switch {
		case n.op == "GlobalAveragePool":
			out[2+i] = 1
		case kernel == nil || strides == nil || pads == nil || dilations == nil || n.integer("ceil_mode") != 0 || x[2+i] < 0 || n.attrs["auto_pad"] != nil || strides[i] < 1:
			out[2+i] = unknown
		default:
			out[2+i] = max(unknown, (x[2+i]+pads[i]+pads[axes+i]-(kernel[i]-1)*dilations[i]-1)/strides[i]+1)
		}
	}
	return out
}

func gemm(n *node, in []dims) dims {
	a, b := in[0], in[1]
	if len(a) != 2 || len(b) != 2 {
		return nil
	}
	return dims{a[n.integer("transA")&1], b[1-n.integer("transB")&1]}
}

func matmul(_ *node, in []dims) dims {
	a, b := in[0], in[1]
	if len(a) < 2 || len(b) != 2 {
		return nil
	}
	return append(slices.Clone(a[:len(a)-1]), b[1])
}

func broadcast(_ *node, in []dims) dims {
	a, b := in[0], in[1]
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
	k := n.integer("axis")
	var out dims
	for i, d := range in {
		if k < 0 || k >= int64(len(d)) || i > 0 && len(d) != len(out) {
			return nil
		}
		switch {
		case i == 0:
			out = slices.Clone(d)
		case out[k] < 0 || d[k] < 0:
			out[k] = unknown
		default:
			out[k] += d[k]
		}
	}
	return out
}

func reshaped(n *node, in []dims) dims {
	x := in[0]
	shape, _ := n.attrs["shape"].([]int64)
	if shape == nil {
		return nil
	}
	out, infer, known := append(dims{}, shape...), -1, int64(1)
	for i, d := range out {
		switch {
		case d == 0 && i < len(x) && n.integer("allowzero") == 0:
			out[i] = x[i]
		case d < 0:
			infer = i
			continue
		}
		known *= out[i]
	}
	if infer >= 0 {
		out[infer] = unknown
		if total := product(x); total >= 0 && known > 0 {
			out[infer] = total / known
		}
	}
	return out
}

// product returns the number of elements, or unknown.
func product(d dims) int64 {
	if d == nil {
		return unknown
	}
	n, err := tensor.Shape(d).Elems()
	if err != nil {
		return unknown
	}
	return n
}

func flattened(n *node, in []dims) dims {
	x, axis := in[0], n.integer("axis")
	if x == nil || axis < 0 || axis > int64(len(x)) {
		return nil
	}
	side := func(d dims) int64 {
		if len(d) == 1 {
			return d[0]
		}
		return product(d)
	}
	return dims{side(append(dims{}, x[:axis]...)), side(append(dims{}, x[axis:]...))}
}

func transposed(n *node, in []dims) dims {
	x := in[0]
	if x == nil {
		return nil
	}
	perm, ok := n.attrs["perm"].([]int64)
	out := slices.Clone(x)
	slices.Reverse(out)
	if !ok {
		return out
	}
	if len(perm) != len(x) {
		return nil
	}
	for i, p := range perm {
		if p < 0 || p >= int64(len(x)) {
			return nil
		}
		out[i] = x[p]
	}
	return out
}

// normalize converts equivalent forms of a node to one form, as far as shapes are known.
func (n *node) normalize(in []dims) {
	switch n.op {
	case "Conv", "MaxPool", "AveragePool":
		if n.op == "Conv" && len(in[1]) > 2 && n.attrs["kernel_shape"] == nil {
			n.attrs["kernel_shape"] = []int64(slices.Clone(in[1][2:]))
		}
		n.padExplicitly(in[0])
	case "BatchNormalization":
		delete(n.attrs, "momentum") // only training needs it
	case "Dropout":
		clear(n.attrs) // likewise
	case "Concat", "Flatten":
		if axis := n.integer("axis"); axis < 0 && in[0] != nil {
			n.attrs["axis"] = axis + int64(len(in[0]))
		}
	case "Softmax", "LayerNormalization":
		if rank := int64(len(in[0])); rank > 0 && n.integer("axis") == rank-1 {
			delete(n.attrs, "axis")
		}
	case "Reshape":
		n.reshapeExplicitly(in[0])
	}
}

// padExplicitly replaces auto_pad with pads.
func (n *node) padExplicitly(x dims) {
	auto, _ := n.attrs["auto_pad"].(string)
	switch auto {
	case "VALID":
		delete(n.attrs, "pads")
		fallthrough
	case "", "NOTSET":
		delete(n.attrs, "auto_pad")
		return
	}
	axes := len(x) - 2
	if axes < 1 {
		return
	}
	kernel, strides, dilations := n.list("kernel_shape", axes), n.list("strides", axes), n.list("dilations", axes)
	if kernel == nil || strides == nil || dilations == nil {
		return
	}
	pads := make([]int64, 2*axes)
	for i := range axes {
		if x[2+i] < 0 || strides[i] < 1 {
			return
		}
		out := (x[2+i] + strides[i] - 1) / strides[i]
		total := max(0, (out-1)*strides[i]+(kernel[i]-1)*dilations[i]+1-x[2+i])
		pads[i], pads[axes+i] = total/2, total-total/2
		if auto == "SAME_LOWER" {
			pads[i], pads[axes+i] = pads[axes+i], pads[i]
		}
	}
	delete(n.attrs, "auto_pad")
	n.attrs["pads"] = pads
}

// reshapeExplicitly replaces dims of 0, which copy the input's dim.
func (n *node) reshapeExplicitly(x dims) {
	shape, _ := n.attrs["shape"].([]int64)
	if n.integer("allowzero") != 0 || !slices.Contains(shape, 0) {
		return
	}
	shape = slices.Clone(shape)
	for i, d := range shape {
		switch {
		case d != 0 || i >= len(x):
		case x[i] >= 0:
			shape[i] = x[i]
		case !slices.Contains(shape, unknown):
			shape[i] = unknown
		}
	}
	n.attrs["shape"] = shape
}
