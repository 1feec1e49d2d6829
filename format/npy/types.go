package npy

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// TypeName returns the descr of the elements of t in a header, without quotes: "<f4", or "|b1". For
// elements that only NumPy reads it is the descr in the file that t is from, such as "<U3". The
// error is ErrUnsupported for elements that the format cannot store.
func TypeName(t tensor.Info) (string, error) {
	if elemFor(&t) == nil {
		return "", fmt.Errorf("%w: npy has no %s elements", tensor.ErrUnsupported, t.TypeName())
	}
	descr, _ := descrOf(&t)
	return strings.Trim(descr, "'"), nil
}

// ParseType returns the type of elements with a descr, "<f4", or a name, "float32", as in
// tensor.Info: a DType, or an Encoding for types without one. The error is ErrUnsupported for other
// types, and for a big-endian descr: the bytes of tensors are little-endian, and readers of files
// swap them.
func ParseType(name string) (tensor.DType, *tensor.Encoding, error) {

	e, big := elemOf([]byte(name))
	switch {
	case e == nil:
		return tensor.Invalid, nil, fmt.Errorf("%w: no numbers have the descr %q", tensor.ErrUnsupported,
			name)
	case big:
		return tensor.Invalid, nil, fmt.Errorf("%w: %q is big-endian", tensor.ErrUnsupported, name)
	}
	return e.dtype, e.enc, nil
}
