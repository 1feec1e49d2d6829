package safetensors

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// TypeName returns the dtype that a file of this format has for the elements of t, such as "BF16"
// or "F8_E8M0". Types of other formats with the same elements have the same name. The error is
// ErrUnsupported for elements that the format cannot store.
func TypeName(t tensor.Info) (string, error) {
	i := typeOf(&t)
	if i >= 0 {
		return dtypes[i].name, nil
	}
	if isListed(&t) {
		return t.Encoding.Name, nil
	}
	return "", fmt.Errorf("%w: %s has no %s elements", tensor.ErrUnsupported, formatName, t.TypeName())
}

// ParseType returns the type of elements that a file calls name, as in tensor.Info: a DType, or an
// Encoding for types without one. The error is ErrUnsupported for names that the reference
// implementation does not have.
func ParseType(name string) (tensor.DType, *tensor.Encoding, error) {
	i := named(name)
	if i < 0 {
		return tensor.Invalid, nil, fmt.Errorf("%w: %s has no type %q", tensor.ErrUnsupported,
			formatName, name)
	}
	return dtypes[i].dtype, dtypes[i].enc, nil
}
