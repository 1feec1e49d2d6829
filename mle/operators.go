package mle

import (
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
)

// Op is an operator of the graph. Its value is the version 2 code; codes without a name
// are preserved. Version 1 has other codes, which are translated on reading and writing,
// so that an Op means the same in either version.
//
// A version 1 file may have a code that only version 2 defines, such as 15. Its Op is
// that code plus 65,536, which has no name and cannot be written in version 2.
type Op uint32

// onlyV1 is added to codes in a version 1 file that only version 2 defines.
const onlyV1 Op = 1 << 16

var opNames = [...]string{
	1:  "Linear",
	2:  "ReLU",
	3:  "GELU",
	4:  "Softmax",
	5:  "LayerNorm",
	6:  "MatMul",
	7:  "Add",
	8:  "Mul",
	9:  "Conv2D",
	10: "MaxPool2D",
	11: "BatchNorm",
	12: "Dropout",
	13: "Embedding",
	14: "Attention",
	15: "AvgPool2D",
	16: "Conv1D",
	17: "MaxPool1D",
	18: "AvgPool1D",
	19: "Flatten",
	20: "Reshape",
	21: "Transpose",
	22: "Concat",
	23: "Split",
	24: "Slice",
	25: "Pad",
	26: "DecisionTree",
	27: "TreeEnsemble",
	28: "GradientBoosting",
	29: "SVM",
	30: "NaiveBayes",
	31: "KNN",
	32: "Clustering",
	33: "DBSCAN",
	34: "Decomposition",
	35: "TransformerBlock",
	36: "MultiHeadAttention",
	37: "PositionalEncoding",
	38: "CrossAttention",
}

// opsV1 lists the operators of version 1 by code; 0 means none.
var opsV1 = [...]Op{1: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 26: 26, 27, 29, 30, 31, 32,
	34}

// opOfCode returns the operator of a code in a file of the given version.
func opOfCode(code uint16, version uint32) Op {
	if version == 1 {
		if int(code) < len(opsV1) && opsV1[code] != 0 {
			return opsV1[code]
		}
		if Op(code).named() {
			return onlyV1 + Op(code)
		}
	}
	return Op(code)
}

// code is the inverse of opOfCode. It reports false if the version lacks the operator.
func (o Op) code(version uint32) (uint16, bool) {
	if version == 1 && o.named() {
		code := slices.Index(opsV1[:], o)
		return uint16(code), code > 0
	}
	code := uint16(o)
	return code, opOfCode(code, version) == o
}

func (o Op) named() bool { return o < Op(len(opNames)) && opNames[o] != "" }

// String returns the name of the operator, or its code in decimal.
func (o Op) String() string {
	if o.named() {
		return opNames[o]
	}
	return strconv.Itoa(int(uint16(o)))
}

// opOf is the inverse of String for a file of the given version, in which a decimal code
// means that version's code. It reports false if the version lacks the operator.
func opOf(name string, version uint32) (Op, bool) {
	i := slices.Index(opNames[:], name)
	if i > 0 && name != "" {
		_, ok := Op(i).code(version)
		return Op(i), ok
	}
	n, err := strconv.ParseUint(name, 10, 16)
	if err != nil {
		return 0, false
	}
	o := opOfCode(uint16(n), version)
	return o, o.String() == name
}

// operandsOnly reports whether the reference implementation takes all operands, including
// constants, from input_ids.
func (o Op) operandsOnly() bool {
	return slices.Contains([]string{"MatMul", "Add", "Mul", "Attention"}, o.String())
}

// Operators implements driver.Vocabulary. The package documentation describes the
// operators.
func (fileFormat) Operators() []driver.Operator {
	return operators
}

// The attributes of operators.
var (
	attrKernel      = sides("kernel_shape", "kernel_h", "kernel_w", 2)
	attrStep        = sides("strides", "stride_h", "stride_w", 2)
	attrStride      = sides("strides", "stride_h", "stride_w", 1)
	attrPad         = symmetric(sides("pads", "pad_h", "pad_w", 0))
	attrEpsilon     = attribute("epsilon", "eps", float32(0), float32(1e-5))
	attrCounted     = attribute("count_include_pad", "count_include_pad", false, int64(0))
	attrFlattenAxis = attribute("axis", "axis", int64(0), int64(1))
	attrConcatAxis  = attribute("axis", "axis", int64(0), int64(0))
	attrShape       = attribute("shape", "shape", []int64(nil), nil)
	attrOrder       = attribute("perm", "perm", []int64(nil), nil)
	attrTransB      = driver.Attribute{ONNX: "transB", Default: int64(1)}
)

// attribute is an attribute of ONNX with a name in MLE, the type of its value and a default.
func attribute(onnx, name string, value, byDefault any) driver.Attribute {
	return driver.Attribute{ONNX: onnx, Names: []string{name}, Value: value, Default: byDefault}
}

// sides is an attribute that MLE splits into height and width.
func sides(onnx, height, width string, byDefault int64) driver.Attribute {
	return driver.Attribute{
		ONNX:    onnx,
		Names:   []string{height, width},
		Value:   int64(0),
		Default: []int64{byDefault, byDefault},
	}
}

// symmetric is an attribute whose values at both ends are the same.
func symmetric(a driver.Attribute) driver.Attribute {
	a.Symmetric = true
	return a
}

func attributes(list ...driver.Attribute) []driver.Attribute { return list }

var operators = []driver.Operator{
	{Name: "Linear", ONNX: "Gemm", Inputs: 3, Rank: 2, Attributes: attributes(attrTransB)},
	{Name: "ReLU", ONNX: "Relu"},
	{Name: "Softmax", ONNX: "Softmax", Rank: 2},
	{Name: "LayerNorm", ONNX: "LayerNormalization", Inputs: 3, Attributes: attributes(attrEpsilon)},
	{Name: "MatMul", ONNX: "MatMul", Rank: 2},
	{Name: "Add", ONNX: "Add", SameShape: true},
	{Name: "Mul", ONNX: "Mul", SameShape: true},
	{Name: "Conv2D", ONNX: "Conv", Inputs: 3, Rank: 4, Attributes: attributes(attrStride, attrPad)},
	{Name: "MaxPool2D", ONNX: "MaxPool", Rank: 4, Attributes: attributes(attrKernel, attrStep,
		attrPad)},
	{Name: "BatchNorm", ONNX: "BatchNormalization", Inputs: 5, Attributes: attributes(attrEpsilon)},
	{Name: "Dropout", ONNX: "Dropout"},
	{Name: "AvgPool2D", ONNX: "AveragePool", Rank: 4,
		Attributes: attributes(attrKernel, attrStep, attrPad, attrCounted)},
	{Name: "Flatten", ONNX: "Flatten", Attributes: attributes(attrFlattenAxis)},
	{Name: "Reshape", ONNX: "Reshape", Attributes: attributes(attrShape)},
	{Name: "Transpose", ONNX: "Transpose", Attributes: attributes(attrOrder)},
	{Name: "Concat", ONNX: "Concat", Attributes: attributes(attrConcatAxis)},
}
