package onnx

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// TypeName returns the name in TensorProto.DataType of the elements of t, such as "FLOAT16" or
// "INT4". Types of other formats with the same elements have the same name. The error is
// ErrUnsupported for elements that a TensorProto cannot hold, and for those whose code has no name.
func TypeName(t tensor.Info) (string, error) {
	e := typeOf(storageOf(&t).code)
	if e.name == "" {
		return "", fmt.Errorf("%w: %s has no %s elements",
			tensor.ErrUnsupported, formatName, t.TypeName())
	}
	return e.name, nil
}

// ParseType returns the type of elements that TensorProto.DataType calls name, as in tensor.Info: a
// DType, or an Encoding for types without one. The error is ErrUnsupported for names that it does
// not have.
func ParseType(name string) (tensor.DType, *tensor.Encoding, error) {
	for i := range elemTypes {
		if elemTypes[i].name == name && name != "" {
			return elemTypes[i].dtype, elemTypes[i].enc, nil
		}
	}
	err := fmt.Errorf("%w: %s has no type %q", tensor.ErrUnsupported, formatName, name)
	return tensor.Invalid, nil, err
}
