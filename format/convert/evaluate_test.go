package convert_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// This file runs models, each in the operators of its own format, as that format's
// documentation has them. It knows nothing of the tables by which graphs are translated, so
// equal outputs before and after show that the meaning is the same.

// array is a value of a running model. Integers are exact in it as far as models need them.
type array struct {
	shape []int
	data  []float32
}

func newArray(shape ...int) *array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return &array{shape, make([]float32, n)}
}

// call is a node at work.
type call struct {
	node *format.Node
	in   []*array
}

func failf(text string, args ...any) { panic(fmt.Errorf(text, args...)) }

// evaluate runs a model on inputs by their names.
func evaluate(t *testing.T, m *format.Model, inputs map[string]*array) (out []*array, err error) {
	t.Helper()
	ops := map[string]map[string]func(*call) *array{"onnx": onnxOperators, "wia": onnxOperators, "mobi": mobiOperators, "mle": mleOperators}[m.Format()]
	g, err := m.Graph()
	if err != nil || g == nil {
		return nil, fmt.Errorf("no graph: %v", err)
	}
	g = unnamed(g)
	values := map[string]*array{}
	for name, v := range m.Tensors() {
		a := newArray()
		for _, d := range v.Shape() {
			a.shape = append(a.shape, int(d))
		}
		if m.Format() == "onnx" && (v.DType() == tensor.Int8 || v.DType() == tensor.Uint8) {
			b, _ := v.Bytes() // numbers as they are: ONNX's tensors have no parameters
			for a.data = nil; len(b) > 0; b = b[1:] {
				if a.data = append(a.data, float32(b[0])); v.DType() == tensor.Int8 {
					a.data[len(a.data)-1] = float32(int8(b[0]))
				}
			}
		} else if v.DType() == tensor.Int64 {
			b, _ := v.Bytes()
			for a.data = nil; len(b) > 0; b = b[8:] {
				a.data = append(a.data, float32(int64(binary.LittleEndian.Uint64(b))))
			}
		} else if a.data, err = tensor.Decode[float32](nil, v); err != nil {
			return nil, err
		}
		values[name] = a
	}
	for name, a := range inputs {
		values[name] = a
	}
	for i := range g.Nodes {
		if err := step(&g.Nodes[i], ops, values); err != nil {
			return nil, fmt.Errorf("node %d (%s): %w", i, g.Nodes[i].Op, err)
		}
	}
	for _, o := range g.Outputs {
		if values[o.Name] == nil {
			return nil, fmt.Errorf("nothing yields %q", o.Name)
		}
		out = append(out, values[o.Name])
	}
	return out, nil
}

func step(n *format.Node, ops map[string]func(*call) *array, values map[string]*array) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	f := ops[n.Op]
	if f == nil {
		return fmt.Errorf("not supported")
	}
	c := &call{node: n}
	for _, name := range n.Inputs {
		if values[name] == nil {
			return fmt.Errorf("no value %q", name)
		}
		c.in = append(c.in, values[name])
	}
	values[n.Outputs[0]] = f(c)
	return nil
}

// known panics when a node has attributes that its operator has not.
func (c *call) known(names ...string) {
	for _, a := range c.node.Attributes {
		if !slices.Contains(names, a.Name) {
			failf("attribute %q", a.Name)
		}
	}
}

func (c *call) attr(name string) any {
	for _, a := range c.node.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

func (c *call) integer(name string, def int) int {
	switch v := c.attr(name).(type) {
	case int64:
		return int(v)
	case bool:
		if v {
			return 1
		}
		return 0
	case nil:
		return def
	default:
		failf("%s is a %T", name, v)
	}
	return 0
}

func (c *call) float(name string, def float32) float32 {
	switch v := c.attr(name).(type) {
	case float32:
		return v
	case float64:
		return float32(v)
	case nil:
		return def
	default:
		failf("%s is a %T", name, v)
	}
	return 0
}

func (c *call) ints(name string, def ...int) []int {
	var out []int
	switch v := c.attr(name).(type) {
	case []int64:
		for _, x := range v {
			out = append(out, int(x))
		}
	case []int32:
		for _, x := range v {
			out = append(out, int(x))
		}
	case nil:
		return def
	default:
		failf("%s is a %T", name, v)
	}
	return out
}

// bias returns an input that may be missing.
func (c *call) bias(i int) *array {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// window is how a kernel moves over an image; pads are top, left, bottom, right.
type window struct {
	kernel, strides, pads, dilations []int
	groups                           int
}

// output returns how often the kernel fits.
func (w *window) output(x *array) (height, width int) {
	size := func(i int) int {
		return (x.shape[2+i]+w.pads[i]+w.pads[2+i]-(w.kernel[i]-1)*w.dilations[i]-1)/w.strides[i] + 1
	}
	return size(0), size(1)
}

// covered calls f with what the kernel covers at an output position.
func (w *window) covered(x *array, n, c, oh, ow int, f func(kernel int, value float32)) {
	h, wd := x.shape[2], x.shape[3]
	for kh := range w.kernel[0] {
		for kw := range w.kernel[1] {
			ih, iw := oh*w.strides[0]+kh*w.dilations[0]-w.pads[0], ow*w.strides[1]+kw*w.dilations[1]-w.pads[1]
			if ih >= 0 && ih < h && iw >= 0 && iw < wd {
				f(kh*w.kernel[1]+kw, x.data[((n*x.shape[1]+c)*h+ih)*wd+iw])
			}
		}
	}
}

// convolve adds up channel by channel; the bias comes last, or first.
func convolve(x, weights, bias *array, w window, biasFirst bool) *array {
	if len(x.shape) != 4 || len(weights.shape) != 4 || x.shape[1] != weights.shape[1]*w.groups || weights.shape[0]%w.groups != 0 {
		failf("shapes %v, %v in %d groups", x.shape, weights.shape, w.groups)
	}
	oh, ow := w.output(x)
	out := newArray(x.shape[0], weights.shape[0], oh, ow)
	per, kernel := weights.shape[1], w.kernel[0]*w.kernel[1]
	at := 0
	for n := range x.shape[0] {
		for m := range weights.shape[0] {
			group := m / (weights.shape[0] / w.groups)
			for y := range oh {
				for z := range ow {
					sum := float32(0)
					if bias != nil && biasFirst {
						sum = bias.data[m]
					}
					for c := range per {
						w.covered(x, n, group*per+c, y, z, func(k int, v float32) {
							sum += float32(v * weights.data[(m*per+c)*kernel+k])
						})
					}
					if bias != nil && !biasFirst {
						sum += bias.data[m]
					}
					out.data[at] = sum
					at++
				}
			}
		}
	}
	return out
}

// pool takes the largest of what the window covers, or the mean, over all of the window or what is in the image.
func pool(x *array, w window, average, includePad bool) *array {
	if len(x.shape) != 4 {
		failf("shape %v", x.shape)
	}
	oh, ow := w.output(x)
	out := newArray(x.shape[0], x.shape[1], oh, ow)
	at := 0
	for n := range x.shape[0] {
		for c := range x.shape[1] {
			for y := range oh {
				for z := range ow {
					sum, most, count := float32(0), float32(math.Inf(-1)), 0
					w.covered(x, n, c, y, z, func(_ int, v float32) {
						sum += v
						most = max(most, v)
						count++
					})
					if includePad {
						count = w.kernel[0] * w.kernel[1]
					}
					if out.data[at] = most; average {
						out.data[at] = sum / float32(count)
					}
					at++
				}
			}
		}
	}
	return out
}

// multiply is a matrix product, of the transposed second one if asked, with a bias for each column.
func multiply(a, b, bias *array, transB bool) *array {
	if len(a.shape) != 2 || len(b.shape) != 2 {
		failf("shapes %v, %v", a.shape, b.shape)
	}
	k, columns := b.shape[0], b.shape[1]
	if transB {
		k, columns = columns, k
	}
	if a.shape[1] != k {
		failf("shapes %v, %v", a.shape, b.shape)
	}
	out := newArray(a.shape[0], columns)
	for i := range a.shape[0] {
		for j := range columns {
			sum := float32(0)
			for x := range k {
				at := x*columns + j
				if transB {
					at = j*k + x
				}
				sum += float32(a.data[i*k+x] * b.data[at])
			}
			if bias != nil {
				sum += bias.data[j]
			}
			out.data[i*columns+j] = sum
		}
	}
	return out
}

func reshape(x *array, shape ...int) *array {
	infer, n := -1, 1
	out := &array{slices.Clone(shape), x.data}
	for i, d := range shape {
		if d < 0 {
			infer = i
		} else {
			n *= d
		}
	}
	if infer >= 0 {
		out.shape[infer] = len(x.data) / n
		n *= out.shape[infer]
	}
	if n != len(x.data) {
		failf("%v to %v", x.shape, shape)
	}
	return out
}

func flatten(x *array, axis int) *array {
	if axis < 0 {
		axis += len(x.shape)
	}
	n := 1
	for _, d := range x.shape[:axis] {
		n *= d
	}
	return reshape(x, n, -1)
}

func transpose(x *array, perm []int) *array {
	rank := len(x.shape)
	if perm == nil {
		for i := range rank {
			perm = append(perm, rank-1-i)
		}
	}
	out := newArray()
	strides := make([]int, rank)
	for i, s := rank-1, 1; i >= 0; i-- {
		strides[i] = s
		s *= x.shape[i]
	}
	out.data = nil
	var walk func(i, at int)
	walk = func(i, at int) {
		if i == rank {
			out.data = append(out.data, x.data[at])
			return
		}
		for k := range x.shape[perm[i]] {
			walk(i+1, at+k*strides[perm[i]])
		}
	}
	for _, p := range perm {
		out.shape = append(out.shape, x.shape[p])
	}
	walk(0, 0)
	return out
}

func concat(in []*array, axis int) *array {
	if axis < 0 {
		axis += len(in[0].shape)
	}
	out := &array{shape: slices.Clone(in[0].shape)}
	out.shape[axis] = 0
	outer := 1
	for _, d := range in[0].shape[:axis] {
		outer *= d
	}
	for _, a := range in {
		out.shape[axis] += a.shape[axis]
	}
	for i := range outer {
		for _, a := range in {
			n := len(a.data) / outer
			out.data = append(out.data, a.data[i*n:(i+1)*n]...)
		}
	}
	return out
}

func softmax(x *array, axis int) *array {
	if axis < 0 {
		axis += len(x.shape)
	}
	out := &array{x.shape, slices.Clone(x.data)}
	inner := 1
	for _, d := range x.shape[axis+1:] {
		inner *= d
	}
	n := x.shape[axis]
	for first := range len(x.data) {
		if first/inner%n != 0 {
			continue
		}
		most, sum := float32(math.Inf(-1)), float32(0)
		for i := range n {
			most = max(most, x.data[first+i*inner])
		}
		for i := range n {
			v := &out.data[first+i*inner]
			*v = float32(math.Exp(float64(*v - most)))
			sum += *v
		}
		for i := range n {
			out.data[first+i*inner] /= sum
		}
	}
	return out
}

// normalize is batch normalization: by channel, which is the second dim.
func normalize(c *call, eps float32) *array {
	x, scale, bias, mean, variance := c.in[0], c.in[1], c.in[2], c.in[3], c.in[4]
	out := newArray(x.shape...)
	inner := len(x.data) / (x.shape[0] * x.shape[1])
	for i, v := range x.data {
		k := i / inner % x.shape[1]
		inv := 1 / float32(math.Sqrt(float64(variance.data[k]+eps)))
		out.data[i] = float32(float32(scale.data[k]*float32(v-mean.data[k]))*inv) + bias.data[k]
	}
	return out
}

func layerNorm(c *call, eps float32) *array {
	x := c.in[0]
	out := newArray(x.shape...)
	n := x.shape[len(x.shape)-1]
	for at := 0; at < len(x.data); at += n {
		mean, variance := 0.0, 0.0
		for _, v := range x.data[at : at+n] {
			mean += float64(v) / float64(n)
		}
		for _, v := range x.data[at : at+n] {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(n)
		}
		for i, v := range x.data[at : at+n] {
			y := (float64(v) - mean) / math.Sqrt(variance+float64(eps)) * float64(c.in[1].data[i])
			if b := c.bias(2); b != nil {
				y += float64(b.data[i])
			}
			out.data[at+i] = float32(y)
		}
	}
	return out
}

// pointwise applies a function to each element.
func pointwise(f func(float64) float64) func(*call) *array {
	return func(c *call) *array {
		c.known()
		out := newArray(c.in[0].shape...)
		for i, v := range c.in[0].data {
			out.data[i] = float32(f(float64(v)))
		}
		return out
	}
}

func rectify(x float64) float64 { return max(0, x) }
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// alike combines arrays of one shape.
func alike(f func(a, b float32) float32) func(*call) *array {
	return func(c *call) *array {
		c.known()
		a, b := c.in[0], c.in[1]
		if !slices.Equal(a.shape, b.shape) {
			failf("shapes %v, %v", a.shape, b.shape)
		}
		out := newArray(a.shape...)
		for i := range out.data {
			out.data[i] = f(a.data[i], b.data[i])
		}
		return out
	}
}

// broadcast combines arrays as ONNX does: dims of 1 are repeated.
func broadcast(f func(a, b float32) float32) func(*call) *array {
	return func(c *call) *array {
		c.known()
		a, b := c.in[0], c.in[1]
		rank := max(len(a.shape), len(b.shape))
		dim := func(x *array, i int) int {
			if i -= rank - len(x.shape); i >= 0 {
				return x.shape[i]
			}
			return 1
		}
		out := newArray()
		for i := range rank {
			out.shape = append(out.shape, max(dim(a, i), dim(b, i)))
		}
		out.data = nil
		var walk func(i, atA, atB int)
		walk = func(i, atA, atB int) {
			if i == rank {
				out.data = append(out.data, f(a.data[atA], b.data[atB]))
				return
			}
			for k := range out.shape[i] {
				walk(i+1, atA*dim(a, i)+min(k, dim(a, i)-1), atB*dim(b, i)+min(k, dim(b, i)-1))
			}
		}
		walk(0, 0, 0)
		return out
	}
}

func add(a, b float32) float32 { return a + b }
func sub(a, b float32) float32 { return a - b }
func mul(a, b float32) float32 { return a * b }
func div(a, b float32) float32 { return a / b }

// onnxOperators are as ONNX's documentation of version 17 has them, for images.
var onnxOperators = map[string]func(*call) *array{
	"Conv": func(c *call) *array {
		c.known("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
		return convolve(c.in[0], c.in[1], c.bias(2), onnxWindow(c, c.in[1].shape[2:]), false)
	},
	"MaxPool": func(c *call) *array {
		c.known("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides")
		return pool(c.in[0], onnxWindow(c, nil), false, false)
	},
	"AveragePool": func(c *call) *array {
		c.known("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
		return pool(c.in[0], onnxWindow(c, nil), true, c.integer("count_include_pad", 0) != 0)
	},
	"GlobalAveragePool": func(c *call) *array {
		c.known()
		return pool(c.in[0], window{c.in[0].shape[2:], []int{1, 1}, []int{0, 0, 0, 0}, []int{1, 1}, 1}, true, false)
	},
	"Gemm": func(c *call) *array {
		c.known("alpha", "beta", "transA", "transB")
		if c.float("alpha", 1) != 1 || c.float("beta", 1) != 1 {
			failf("alpha and beta are not supported")
		}
		a := c.in[0]
		if c.integer("transA", 0) != 0 {
			a = transpose(a, nil)
		}
		return multiply(a, c.in[1], c.bias(2), c.integer("transB", 0) != 0)
	},
	"MatMul": func(c *call) *array { c.known(); return multiply(c.in[0], c.in[1], nil, false) },
	"BatchNormalization": func(c *call) *array {
		c.known("epsilon", "momentum", "training_mode")
		return normalize(c, c.float("epsilon", 1e-5))
	},
	"LayerNormalization": func(c *call) *array {
		c.known("axis", "epsilon", "stash_type")
		if axis := c.integer("axis", -1); axis != -1 {
			failf("axis %d", axis)
		}
		return layerNorm(c, c.float("epsilon", 1e-5))
	},
	"Softmax": func(c *call) *array { c.known("axis"); return softmax(c.in[0], c.integer("axis", -1)) },
	"Concat": func(c *call) *array {
		if c.known("axis"); c.attr("axis") == nil {
			failf("no axis")
		}
		return concat(c.in, c.integer("axis", 0))
	},
	"Reshape": func(c *call) *array {
		c.known("allowzero")
		shape := make([]int, len(c.in[1].data))
		for i, d := range c.in[1].data {
			if shape[i] = int(d); d == 0 && c.integer("allowzero", 0) == 0 {
				shape[i] = c.in[0].shape[i]
			}
		}
		return reshape(c.in[0], shape...)
	},
	"Flatten":   func(c *call) *array { c.known("axis"); return flatten(c.in[0], c.integer("axis", 1)) },
	"Transpose": func(c *call) *array { c.known("perm"); return transpose(c.in[0], c.ints("perm")) },
	"Constant": func(c *call) *array {
		data, err := tensor.Decode[float32](nil, c.attr("value").(tensor.View))
		if err != nil {
			panic(err)
		}
		out := &array{data: data}
		for _, d := range c.attr("value").(tensor.View).Shape() {
			out.shape = append(out.shape, int(d))
		}
		return out
	},
	"DequantizeLinear": func(c *call) *array {
		c.known("axis")
		x, scale, zero := c.in[0], c.in[1], c.in[2]
		out, inner := newArray(x.shape...), 1
		if len(scale.shape) == 1 {
			for _, d := range x.shape[c.integer("axis", 1)+1:] {
				inner *= d
			}
		}
		for i, v := range x.data {
			k := i / inner % max(1, len(scale.data))
			out.data[i] = (v - zero.data[k]) * scale.data[k]
		}
		return out
	},
	"Identity": func(c *call) *array { c.known(); return c.in[0] },
	"Dropout":  func(c *call) *array { return c.in[0] },
	"Relu":     pointwise(rectify), "Sigmoid": pointwise(sigmoid), "Tanh": pointwise(math.Tanh),
	"Add": broadcast(add), "Sub": broadcast(sub), "Mul": broadcast(mul), "Div": broadcast(div),
}

func onnxWindow(c *call, kernel []int) window {
	w := window{c.ints("kernel_shape", kernel...), c.ints("strides", 1, 1), c.ints("pads", 0, 0, 0, 0), c.ints("dilations", 1, 1), c.integer("group", 1)}
	if c.integer("ceil_mode", 0) != 0 {
		failf("ceil_mode is not supported")
	}
	auto, _ := c.attr("auto_pad").(string)
	if auto != "SAME_UPPER" && auto != "SAME_LOWER" {
		return w
	}
	for i := range 2 {
		size := c.in[0].shape[2+i]
		out := (size + w.strides[i] - 1) / w.strides[i]
		total := max(0, (out-1)*w.strides[i]+(w.kernel[i]-1)*w.dilations[i]+1-size)
		small, large := total/2, (total+1)/2
		if auto == "SAME_LOWER" {
			small, large = large, small
		}
		w.pads[i], w.pads[2+i] = small, large
	}
	return w
}

// mobiOperators are as package mobi documents them.
var mobiOperators = map[string]func(*call) *array{
	"Conv2D": func(c *call) *array {
		c.known("kernel_size", "stride", "padding", "dilation", "groups", "input1_scale", "input1_zero_point", "input1_axis")
		return convolve(c.in[0], c.in[1], c.bias(2), mobiWindow(c, c.in[1].shape[2:], []int{1, 1}, c.integer("groups", 1)), false)
	},
	"DepthwiseConv2D": func(c *call) *array {
		c.known("kernel_size", "stride", "padding", "dilation", "input1_scale", "input1_zero_point", "input1_axis")
		return convolve(c.in[0], c.in[1], c.bias(2), mobiWindow(c, c.in[1].shape[2:], []int{1, 1}, c.in[0].shape[1]), false)
	},
	"FullyConnected": func(c *call) *array {
		c.known("input1_scale", "input1_zero_point", "input1_axis")
		return multiply(flatten(c.in[0], 1), c.in[1], c.bias(2), true)
	},
	"MaxPool2D": func(c *call) *array {
		c.known("kernel_size", "stride", "padding")
		return pool(c.in[0], mobiWindow(c, []int{2, 2}, nil, 1), false, false)
	},
	"AvgPool2D": func(c *call) *array {
		c.known("kernel_size", "stride", "padding", "count_include_pad")
		return pool(c.in[0], mobiWindow(c, []int{2, 2}, nil, 1), true, c.integer("count_include_pad", 0) != 0)
	},
	"BatchNorm": func(c *call) *array { c.known("epsilon"); return normalize(c, c.float("epsilon", 1e-5)) },
	"Softmax":   func(c *call) *array { c.known("axis"); return softmax(c.in[0], c.integer("axis", -1)) },
	"Concat": func(c *call) *array {
		c.known("axis", "dim")
		axis := c.integer("axis", c.integer("dim", 0))
		if axis < 0 {
			failf("axis %d", axis)
		}
		return concat(c.in, axis)
	},
	"Reshape":   func(c *call) *array { c.known("shape"); return reshape(c.in[0], c.ints("shape")...) },
	"Flatten":   func(c *call) *array { c.known("axis"); return flatten(c.in[0], c.integer("axis", 1)) },
	"Transpose": func(c *call) *array { c.known("perm"); return transpose(c.in[0], c.ints("perm")) },
	"MatMul":    func(c *call) *array { c.known(); return multiply(c.in[0], c.in[1], nil, false) },
	"Relu":      pointwise(rectify), "Sigmoid": pointwise(sigmoid), "Tanh": pointwise(math.Tanh),
	"Add": alike(add), "Subtract": alike(sub), "Multiply": alike(mul), "Divide": alike(div),
}

// mobiWindow has as much padding at either end. Without strides they are those of the kernel.
func mobiWindow(c *call, kernel, strides []int, groups int) window {
	kernel = c.ints("kernel_size", kernel...)
	if strides == nil {
		strides = kernel
	}
	p := c.ints("padding", 0, 0)
	return window{kernel, c.ints("stride", strides...), []int{p[0], p[1], p[0], p[1]}, c.ints("dilation", 1, 1), groups}
}

// mleOperators are as package mle documents them. The reference implementation starts a
// convolution with its bias.
var mleOperators = map[string]func(*call) *array{
	"Linear": func(c *call) *array { c.known(); return multiply(c.in[0], c.in[1], c.in[2], true) },
	"MatMul": func(c *call) *array { c.known(); return multiply(c.in[0], c.in[1], nil, false) },
	"Conv2D": func(c *call) *array {
		c.known("stride_h", "stride_w", "pad_h", "pad_w")
		return convolve(c.in[0], c.in[1], c.in[2], mleWindow(c, c.in[1].shape[2:], 1), true)
	},
	"MaxPool2D": func(c *call) *array {
		c.known("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w")
		return pool(c.in[0], mleWindow(c, []int{c.integer("kernel_h", 2), c.integer("kernel_w", 2)}, 2), false, false)
	},
	"AvgPool2D": func(c *call) *array {
		c.known("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "count_include_pad")
		return pool(c.in[0], mleWindow(c, []int{c.integer("kernel_h", 2), c.integer("kernel_w", 2)}, 2), true, c.integer("count_include_pad", 0) != 0)
	},
	"BatchNorm": func(c *call) *array { c.known("eps"); return normalize(c, c.float("eps", 1e-5)) },
	"LayerNorm": func(c *call) *array { c.known("eps"); return layerNorm(c, c.float("eps", 1e-5)) },
	"Softmax": func(c *call) *array {
		if c.known(); len(c.in[0].shape) != 2 {
			failf("shape %v", c.in[0].shape)
		}
		return softmax(c.in[0], 1)
	},
	"Concat":    func(c *call) *array { c.known("axis"); return concat(c.in, c.integer("axis", 0)) },
	"Reshape":   func(c *call) *array { c.known("shape"); return reshape(c.in[0], c.ints("shape")...) },
	"Flatten":   func(c *call) *array { c.known("axis"); return flatten(c.in[0], c.integer("axis", 1)) },
	"Transpose": func(c *call) *array { c.known("perm"); return transpose(c.in[0], c.ints("perm")) },
	"Dropout":   func(c *call) *array { c.known(); return c.in[0] },
	"ReLU":      pointwise(rectify),
	"Add":       alike(add), "Mul": alike(mul),
}

func mleWindow(c *call, kernel []int, stride int) window {
	h, w := c.integer("pad_h", 0), c.integer("pad_w", 0)
	return window{kernel, []int{c.integer("stride_h", stride), c.integer("stride_w", stride)}, []int{h, w, h, w}, []int{1, 1}, 1}
}

// unnamed returns a graph without the parameters in which MOBI keeps names of tensors.
func unnamed(g *format.Graph) *format.Graph {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Attributes = slices.DeleteFunc(slices.Clone(n.Attributes), func(a format.Attribute) bool { return keptName.MatchString(a.Name) })
	}
	return g
}

var keptName = regexp.MustCompile(`^input\d+_name$`)
