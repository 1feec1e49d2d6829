package driver

// Vocabulary is a Driver that says what the operators of its graphs mean, so that graphs can be
// translated from and into those of other formats. Without one a graph is kept from a format
// to itself only.
type Vocabulary interface {
	// Operators returns the operators that mean the same as one of ONNX's, the more special
	// first where several mean the same. Nil says that the graphs are written in ONNX's own
	// operators, in the versions that the metadata entry "opsets" names, or version 17.
	Operators() []Operator
}

// Operator says how nodes are written that mean the same as one of ONNX's, version 17. Inputs
// have the same order. Images are NCHW, weights of convolutions OIHW.
type Operator struct {
	Name string // the format's: "Conv2D"
	ONNX string // ONNX's: "Conv"
	// Inputs is how many inputs a node must have, where ONNX lets some be missing. A bias that
	// is missing is one of zeros.
	Inputs int
	// Rank is the rank that the first input must have, 0 for any.
	Rank int
	// SameShape says that nothing is broadcast: all inputs have the same shape.
	SameShape bool
	// Depthwise says that each channel is convolved on its own, into one.
	Depthwise bool
	// Flattens says that an input of more than two dims is taken for a matrix, with one row for
	// each index of its first.
	Flattens bool
	// Implied are ONNX's attributes that such nodes have without saying so.
	Implied    []Attribute
	Attributes []OperatorAttribute
}

// OperatorAttribute is an attribute of an Operator. Attributes of ONNX's that an Operator does
// not have, and does not imply, have ONNX's default.
type OperatorAttribute struct {
	// ONNX is the attribute's name in ONNX, such as "strides". The target shape of Reshape is
	// the attribute "shape", although ONNX has an input for it.
	ONNX string
	// Names has the name in the format: one, or one for each element of a list ("stride_h",
	// "stride_w"), which are integers then. The first that a node has counts if Alias.
	Names []string
	Alias bool
	// Symmetric says that the list of "pads" is halved, as both ends of an axis are padded alike.
	Symmetric bool
	// Value is a value of the type that is written: int64, []int32, []int64, float32, bool.
	Value any
	// Default is what a node means without it, in ONNX's form: an int64, []int64 or float32; a
	// string is the name of the ONNX attribute that it equals then. Nil says that
	// ONNX's node lacks the attribute too.
	Default any
	// Quantizes is the number of the input, from 1, whose quantization this is a parameter of.
	// It is in the tensor's description too, so it is skipped.
	Quantizes int
}
