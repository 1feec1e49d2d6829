package mle

import (
	"sync"

	"github.com/weightmap/weightmap/format/driver"
)

// Operators implements driver.Vocabulary; the package's documentation says where it is from.
func (fileFormat) Operators() []driver.Operator {
	vocabulary.made.Do(func() { vocabulary.operators = known() })
	return vocabulary.operators
}

// vocabulary is made when it is asked for: programs that only read do not link it.
var vocabulary struct {
	made      sync.Once
	operators []driver.Operator
}

func known() []driver.Operator {
	type attr = driver.OperatorAttribute
	name := func(s ...string) []string { return s }
	var (
		ints    = []int64(nil)
		zero    = int64(0)
		kernel  = attr{ONNX: "kernel_shape", Names: name("kernel_h", "kernel_w"), Value: zero, Default: []int64{2, 2}}
		step    = attr{ONNX: "strides", Names: name("stride_h", "stride_w"), Value: zero, Default: []int64{2, 2}}
		stride  = attr{ONNX: "strides", Names: name("stride_h", "stride_w"), Value: zero, Default: []int64{1, 1}}
		pad     = attr{ONNX: "pads", Names: name("pad_h", "pad_w"), Symmetric: true, Value: zero, Default: []int64{0, 0, 0, 0}}
		eps     = attr{ONNX: "epsilon", Names: name("eps"), Value: float32(0), Default: float32(1e-5)}
		counted = attr{ONNX: "count_include_pad", Names: name("count_include_pad"), Value: false, Default: zero}
	)
	return []driver.Operator{
		{Name: "Linear", ONNX: "Gemm", Inputs: 3, Rank: 2, Implied: []driver.Attribute{{Name: "transB", Value: int64(1)}}},
		{Name: "ReLU", ONNX: "Relu"},
		{Name: "Softmax", ONNX: "Softmax", Rank: 2},
		{Name: "LayerNorm", ONNX: "LayerNormalization", Inputs: 3, Attributes: []attr{eps}},
		{Name: "MatMul", ONNX: "MatMul", Rank: 2},
		{Name: "Add", ONNX: "Add", SameShape: true},
		{Name: "Mul", ONNX: "Mul", SameShape: true},
		{Name: "Conv2D", ONNX: "Conv", Inputs: 3, Rank: 4, Attributes: []attr{stride, pad}},
		{Name: "MaxPool2D", ONNX: "MaxPool", Rank: 4, Attributes: []attr{kernel, step, pad}},
		{Name: "BatchNorm", ONNX: "BatchNormalization", Inputs: 5, Attributes: []attr{eps}},
		{Name: "Dropout", ONNX: "Dropout"},
		{Name: "AvgPool2D", ONNX: "AveragePool", Rank: 4, Attributes: []attr{kernel, step, pad, counted}},
		{Name: "Flatten", ONNX: "Flatten", Attributes: []attr{{ONNX: "axis", Names: name("axis"), Value: zero, Default: int64(1)}}},
		{Name: "Reshape", ONNX: "Reshape", Attributes: []attr{{ONNX: "shape", Names: name("shape"), Value: ints}}},
		{Name: "Transpose", ONNX: "Transpose", Attributes: []attr{{ONNX: "perm", Names: name("perm"), Value: ints}}},
		{Name: "Concat", ONNX: "Concat", Attributes: []attr{{ONNX: "axis", Names: name("axis"), Value: zero, Default: zero}}},
	}
}
