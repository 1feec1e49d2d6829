package driver

// Vocabulary is a driver.Driver that defines the operators of its graphs, so that graphs can be
// translated to and from other formats. Graphs of a format without a Vocabulary can only be
// copied to the same format.
type Vocabulary interface {
	// Operators returns the operators that have an equivalent in ONNX. If several have the
	// same one, the more specific come first. Nil means that graphs use ONNX operators, in
	// the versions that the metadata entry "opsets" names, or version 17.
	Operators() []Operator
}

// Operator maps an operator of a format to one of ONNX, version 17. The inputs have the same
// order. Images are NCHW, weights of convolutions OIHW.
type Operator struct {
	Name string // in the format, such as "Conv2D"
	ONNX string // in ONNX, such as "Conv"
	// Inputs is the number of inputs that a node must have if some are optional in ONNX. A
	// missing bias becomes one of zeros.
	Inputs int
	// Rank is the required rank of the first input, 0 for any.
	Rank int
	// SameShape means that inputs are not broadcast: all must have the same shape.
	SameShape bool
	// Depthwise means that each channel is convolved separately, into one channel.
	Depthwise bool
	// Flattens means that an input of more than two dims is treated as a matrix, with one row
	// for each index of the first dim.
	Flattens bool
	// Attributes lists the attributes that the format knows.
	Attributes []Attribute
	// Quantizes, if not nil, returns the index of the input that an attribute is a quantization
	// parameter of. The tensor's description has it too, so it is skipped.
	Quantizes func(attribute string) (input int, ok bool)
}

// Attribute is an attribute of an Operator. ONNX attributes that an Operator neither
// has nor implies have their defaults.
type Attribute struct {
	// ONNX is the attribute's name in ONNX, such as "strides". The target shape of Reshape is
	// the attribute "shape", although it is an input in ONNX.
	ONNX string
	// Names lists the name in the format, or one name for each element of a list of integers
	// ("stride_h", "stride_w"). Without names the ONNX attribute always has the Default.
	Names []string
	// Alias means that Names are alternatives: the first that a node has applies.
	Alias bool
	// Symmetric means that both ends of an axis have the same padding, and the list has only half
	// of the elements of "pads".
	Symmetric bool
	// Value is any value of the type to write: int64, []int32, []int64, float32 or bool.
	Value any
	// Default is the value for a node without the attribute: an int64, []int64 or float32 as in
	// ONNX, of Symmetric lists the half. A string is the name of the ONNX attribute whose value
	// applies. Nil means that the ONNX node lacks the attribute too.
	Default any
}
