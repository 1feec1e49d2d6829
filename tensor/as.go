package tensor

import "fmt"

// Elem are the Go types an element can be viewed or decoded as. There is no
// bool: files may hold any byte where a Go bool must be 0 or 1, so a tensor of
// dtype Bool is viewed as uint8.
type Elem interface {
	float64 | float32 | F16 | BF16 | int64 | int32 | int16 | int8 |
		uint64 | uint32 | uint16 | uint8 | complex64
}

// As returns the tensor as a slice of T over the model's own memory, without
// copying and without allocating. It is valid until the model is closed and
// must not be written to. When View.ZeroCopy is false because the data are
// compressed, remote or misaligned, the slice is over the copy Bytes returns.
//
// T must be the Go type of the dtype: F16 (or the bits as uint16) for float16,
// BF16 (or uint16) for bfloat16, uint8 for bool, else the type of the same
// name. Errors: ErrDType, ErrMisaligned, ErrByteOrder (elements of several
// bytes on a big-endian host: use Decode), ErrClosed.
func As[T Elem](v View) ([]T, error) {
	if v.info == nil {
		return nil, ErrClosed
	}
	if !viewable[T](v.info.DType) {
		var zero T
		return nil, v.errorf(fmt.Errorf("%w: %v, not %T", ErrDType, v.info.DType, zero))
	}
	if !littleEndian && v.info.DType.Size() > 1 {
		return nil, v.errorf(ErrByteOrder)
	}
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	s, err := cast[T](b)
	if err != nil {
		return nil, v.errorf(err)
	}
	return s, nil
}

// viewable tells whether elements of d may be viewed as T.
func viewable[T Elem](d DType) bool {
	var zero T
	switch any(zero).(type) {
	case uint16:
		return d == Uint16 || d == Float16 || d == BFloat16
	case uint8:
		return d == Uint8 || d == Bool
	}
	return d == dtypeOf[T]()
}

// dtypeOf returns the dtype whose Go type is T.
func dtypeOf[T Elem]() DType {
	var zero T
	switch any(zero).(type) {
	case float64:
		return Float64
	case float32:
		return Float32
	case F16:
		return Float16
	case BF16:
		return BFloat16
	case int64:
		return Int64
	case int32:
		return Int32
	case int16:
		return Int16
	case int8:
		return Int8
	case uint64:
		return Uint64
	case uint32:
		return Uint32
	case uint16:
		return Uint16
	case uint8:
		return Uint8
	}
	return Complex64
}
