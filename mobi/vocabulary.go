package mobi

import (
	"github.com/weightmap/weightmap/format/driver"
)

// Operators implements driver.Vocabulary. The package documentation describes the
// operators.
func (fileFormat) Operators() []driver.Operator {
	type attr = driver.Attribute
	name := func(s ...string) []string { return s }
	var (
		ints     = []int32(nil)
		kernel   = attr{ONNX: "kernel_shape", Names: name("kernel_size"), Value: ints}
		stride   = attr{ONNX: "strides", Names: name("stride"), Value: ints, Default: []int64{1, 1}}
		padding  = attr{ONNX: "pads", Names: name("padding"), Symmetric: true, Value: ints, Default: []int64{0, 0}}
		dilation = attr{ONNX: "dilations", Names: name("dilation"), Value: ints, Default: []int64{1, 1}}
		groups   = attr{ONNX: "group", Names: name("groups"), Value: int64(0), Default: int64(1)}
		window   = attr{ONNX: "kernel_shape", Names: name("kernel_size"), Value: ints, Default: []int64{2, 2}}
		step     = attr{ONNX: "strides", Names: name("stride"), Value: ints, Default: "kernel_shape"}
		counted  = attr{ONNX: "count_include_pad", Names: name("count_include_pad"), Value: false, Default: int64(0)}
	)
	ops := []driver.Operator{
		{Name: "DepthwiseConv2D", ONNX: "Conv", Rank: 4, Depthwise: true, Attributes: []attr{kernel, stride, padding, dilation}},
		{Name: "Conv2D", ONNX: "Conv", Rank: 4, Attributes: []attr{kernel, stride, padding, dilation, groups}},
		{Name: "FullyConnected", ONNX: "Gemm", Flattens: true, Attributes: []attr{{ONNX: "transB", Default: int64(1)}}},
		{Name: "MaxPool2D", ONNX: "MaxPool", Rank: 4, Attributes: []attr{window, step, padding}},
		{Name: "AvgPool2D", ONNX: "AveragePool", Rank: 4, Attributes: []attr{window, step, padding, counted}},
		{Name: "BatchNorm", ONNX: "BatchNormalization", Inputs: 5,
			Attributes: []attr{{ONNX: "epsilon", Names: name("epsilon"), Value: float32(0), Default: float32(1e-5)}}},
		{Name: "Relu", ONNX: "Relu"},
		{Name: "Sigmoid", ONNX: "Sigmoid"},
		{Name: "Tanh", ONNX: "Tanh"},
		{Name: "Softmax", ONNX: "Softmax", Attributes: []attr{{ONNX: "axis", Names: name("axis"), Value: int64(0), Default: int64(-1)}}},
		{Name: "Add", ONNX: "Add", SameShape: true},
		{Name: "Subtract", ONNX: "Sub", SameShape: true},
		{Name: "Multiply", ONNX: "Mul", SameShape: true},
		{Name: "Divide", ONNX: "Div", SameShape: true},
		{Name: "Concat", ONNX: "Concat", Attributes: []attr{{ONNX: "axis", Names: name("axis", "dim"), Alias: true, Value: int64(0), Default: int64(0)}}},
		{Name: "Reshape", ONNX: "Reshape", Attributes: []attr{{ONNX: "shape", Names: name("shape"), Value: ints}}},
		{Name: "Flatten", ONNX: "Flatten", Attributes: []attr{{ONNX: "axis", Names: name("axis"), Value: int64(0), Default: int64(1)}}},
		{Name: "Transpose", ONNX: "Transpose", Attributes: []attr{{ONNX: "perm", Names: name("perm"), Value: ints}}},
		{Name: "MatMul", ONNX: "MatMul", Rank: 2},
	}
	for i := range ops {
		ops[i].Quantizes = quantParam
	}
	return ops
}
