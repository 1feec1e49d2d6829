package mle

import "strconv"

// Op is an operator of the graph, by its version 2 code. Codes without a name
// are kept. Version 1 has codes of its own; reading and writing it translate,
// so that an Op means the same in either version.
//
// A version 1 file may hold a code that only version 2 gives a meaning, such as
// 15. Its Op is that code plus 65,536: it has no name, and version 2 cannot
// express it.
type Op uint32

// onlyV1 sets apart codes of version 1 that have a meaning in version 2 alone.
const onlyV1 Op = 1 << 16

var opNames = [...]string{
	1: "Linear", 2: "ReLU", 3: "GELU", 4: "Softmax", 5: "LayerNorm", 6: "MatMul", 7: "Add", 8: "Mul", 9: "Conv2D",
	10: "MaxPool2D", 11: "BatchNorm", 12: "Dropout", 13: "Embedding", 14: "Attention", 15: "AvgPool2D", 16: "Conv1D",
	17: "MaxPool1D", 18: "AvgPool1D", 19: "Flatten", 20: "Reshape", 21: "Transpose", 22: "Concat", 23: "Split",
	24: "Slice", 25: "Pad", 26: "DecisionTree", 27: "TreeEnsemble", 28: "GradientBoosting", 29: "SVM",
	30: "NaiveBayes", 31: "KNN", 32: "Clustering", 33: "DBSCAN", 34: "Decomposition", 35: "TransformerBlock",
	36: "MultiHeadAttention", 37: "PositionalEncoding", 38: "CrossAttention",
}

// opsV1 lists the operators of version 1 by their codes, 0 where it has none.
var opsV1 = [...]Op{1: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 26: 26, 27, 29, 30, 31, 32, 34}

// opOfCode returns what a code means in a file of that version.
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

// code is the inverse of opOfCode; false when the version lacks the operator.
func (o Op) code(version uint32) (uint16, bool) {
	if version == 1 && o.named() {
		for code, known := range opsV1 {
			if known == o {
				return uint16(code), true
			}
		}
		return 0, false
	}
	code := uint16(o)
	return code, opOfCode(code, version) == o
}

func (o Op) named() bool { return o < Op(len(opNames)) && opNames[o] != "" }

// String returns the operator's name, or the code in decimal.
func (o Op) String() string {
	if o.named() {
		return opNames[o]
	}
	return strconv.Itoa(int(uint16(o)))
}

// opOf is the inverse of String for a file of that version, in which a decimal
// code stands for itself.
func opOf(name string, version uint32) (Op, bool) {
	for o, known := range opNames {
		if name == known && name != "" {
			return Op(o), true
		}
	}
	n, err := strconv.ParseUint(name, 10, 16)
	o := opOfCode(uint16(n), version)
	return o, err == nil && o.String() == name
}

// operandsOnly reports whether the reference implementation takes everything
// the operator works on from input_ids, constants included.
func (o Op) operandsOnly() bool {
	switch o {
	case opMatMul, opAdd, opMul, opAttention:
		return true
	}
	return false
}

// Operators without param_ids.
const (
	opMatMul    Op = 6
	opAdd       Op = 7
	opMul       Op = 8
	opAttention Op = 14
)
