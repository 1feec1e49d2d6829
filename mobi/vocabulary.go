package mobi

import (
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

// Operators implements driver.Vocabulary. The package documentation describes the
// operators.
func (fileFormat) Operators() []driver.Operator {
	ops := slices.Clone(operators)
	for i := range ops {
		ops[i].Quantizes = quantParam
	}
	return ops
}

// The attributes of operators.
var (
	attrKernel   = attribute("kernel_shape", "kernel_size", []int32(nil), nil)
	attrStride   = attribute("strides", "stride", []int32(nil), []int64{1, 1})
	attrPadding  = symmetric(attribute("pads", "padding", []int32(nil), []int64{0, 0}))
	attrDilation = attribute("dilations", "dilation", []int32(nil), []int64{1, 1})
	attrGroups   = attribute("group", "groups", int64(0), int64(1))
	attrWindow   = attribute("kernel_shape", "kernel_size", []int32(nil), []int64{2, 2})
	attrStep     = attribute("strides", "stride", []int32(nil), "kernel_shape")
	attrCounted  = attribute("count_include_pad", "count_include_pad", false, int64(0))
	attrEpsilon  = attribute("epsilon", "epsilon", float32(0), float32(1e-5))
	attrLastAxis = attribute("axis", "axis", int64(0), int64(-1))
	attrAxis1    = attribute("axis", "axis", int64(0), int64(1))
	attrShape    = attribute("shape", "shape", []int32(nil), nil)
	attrOrder    = attribute("perm", "perm", []int32(nil), nil)
	attrTransB   = driver.Attribute{ONNX: "transB", Default: int64(1)}
	attrJoined   = driver.Attribute{
		ONNX:    "axis",
		Names:   []string{"axis", "dim"},
		Alias:   true,
		Value:   int64(0),
		Default: int64(0),
	}
)

// attribute is an attribute of ONNX with a name in MOBI, the type of its value and a default.
func attribute(onnx, name string, value, byDefault any) driver.Attribute {
	return driver.Attribute{ONNX: onnx, Names: []string{name}, Value: value, Default: byDefault}
}

// symmetric is an attribute whose values at both ends are the same.
func symmetric(a driver.Attribute) driver.Attribute {
	a.Symmetric = true
	return a
}

func attributes(list ...driver.Attribute) []driver.Attribute { return list }

var operators = []driver.Operator{
	{Name: "DepthwiseConv2D", ONNX: "Conv", Rank: 4, Depthwise: true,
		Attributes: attributes(attrKernel, attrStride, attrPadding, attrDilation)},
	{Name: "Conv2D", ONNX: "Conv", Rank: 4,
		Attributes: attributes(attrKernel, attrStride, attrPadding, attrDilation, attrGroups)},
	{Name: "FullyConnected", ONNX: "Gemm", Flattens: true, Attributes: attributes(attrTransB)},
	{Name: "MaxPool2D", ONNX: "MaxPool", Rank: 4,
		Attributes: attributes(attrWindow, attrStep, attrPadding)},
	{Name: "AvgPool2D", ONNX: "AveragePool", Rank: 4,
		Attributes: attributes(attrWindow, attrStep, attrPadding, attrCounted)},
	{Name: "BatchNorm", ONNX: "BatchNormalization", Inputs: 5, Attributes: attributes(attrEpsilon)},
	{Name: "Relu", ONNX: "Relu"},
	{Name: "Sigmoid", ONNX: "Sigmoid"},
	{Name: "Tanh", ONNX: "Tanh"},
	{Name: "Softmax", ONNX: "Softmax", Attributes: attributes(attrLastAxis)},
	{Name: "Add", ONNX: "Add", SameShape: true},
	{Name: "Subtract", ONNX: "Sub", SameShape: true},
	{Name: "Multiply", ONNX: "Mul", SameShape: true},
	{Name: "Divide", ONNX: "Div", SameShape: true},
	{Name: "Concat", ONNX: "Concat", Attributes: attributes(attrJoined)},
	{Name: "Reshape", ONNX: "Reshape", Attributes: attributes(attrShape)},
	{Name: "Flatten", ONNX: "Flatten", Attributes: attributes(attrAxis1)},
	{Name: "Transpose", ONNX: "Transpose", Attributes: attributes(attrOrder)},
	{Name: "MatMul", ONNX: "MatMul", Rank: 2},
}
