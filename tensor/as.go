package tensor

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
)

// Elem are the Go types an element can be viewed or decoded as. There is no
// bool: files may hold any byte where a Go bool must be 0 or 1, so a tensor of
// dtype Bool is viewed as uint8.
type Elem interface {
	float64 | float32 | F16 | BF16 | int64 | int32 | int16 | int8 |
		uint64 | uint32 | uint16 | uint8 | complex64
}

// As returns the tensor as a slice of T over the model's own memory, without
// copying and without allocating. It is valid until the model is closed and
// must not be written to. When View.ZeroCopy is false because the data is
// compressed, remote or misaligned, the slice is over the copy Bytes returns.
//
// T must be the Go type of the dtype: F16 (or the bits as uint16) for float16,
// BF16 (or uint16) for bfloat16, uint8 for bool and the float8 types, else the type of the same
// name. Errors: ErrDType, ErrMisaligned, ErrByteOrder (elements of several
// bytes on a big-endian host: use Decode), ErrClosed.
func As[T Elem](v View) ([]T, error) {
	// The usual case first, in a few nanoseconds: the data is in memory, of
	// the right type and aligned.
	r := v.ref()
	if r.Data() != nil && memory.LittleEndian && viewable[T](r.Info().DType) && r.Owner().Lend(r.Info()) == nil {
		if s, fit := memory.Cast[T](r.Data()); fit == memory.Fits {
			return s, nil
		}
	}
	return asSlow[T](v)
}

// asSlow is As for all other cases, and finds out which.
func asSlow[T Elem](v View) ([]T, error) {
	info := v.ref().Info()
	if info == nil {
		return nil, ErrClosed
	}
	if err := unviewable[T](info); err != nil {
		if closed := v.enter(); closed != nil {
			return nil, closed
		}
		v.ref().Owner().Leave()
		return nil, v.explain(err)
	}
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	s, err := cast[T](b)
	if err != nil {
		return nil, v.explain(err)
	}
	return s, nil
}

// cast is memory.Cast with an error.
func cast[T Elem](b []byte) ([]T, error) {
	s, fit := memory.Cast[T](b)
	switch fit {
	case memory.Misaligned:
		return nil, ErrMisaligned
	case memory.Uneven:
		return nil, ErrShape
	}
	return s, nil
}

// unviewable says why elements of a tensor cannot be viewed as T on this host, nil
// when they can.
func unviewable[T Elem](info *Info) error {
	if !viewable[T](info.DType) {
		var zero T
		return fmt.Errorf("%w: %s, not %T", ErrDType, info.TypeName(), zero)
	}
	if !memory.LittleEndian && info.DType.Size() > 1 {
		return ErrByteOrder
	}
	return nil
}

// goTypes has a value of the Go type of each dtype, bitTypes one of the
// integer type that may stand in for it. An assertion against a value is how
// a type parameter is compared in one instruction.
var (
	goTypes = [numDTypes]any{
		Float64: float64(0), Float32: float32(0), Float16: F16(0), BFloat16: BF16(0),
		Int64: int64(0), Int32: int32(0), Int16: int16(0), Int8: int8(0),
		Uint64: uint64(0), Uint32: uint32(0), Uint16: uint16(0), Uint8: uint8(0),
		Complex64: complex64(0),
	}
	bitTypes = [numDTypes]any{Float16: uint16(0), BFloat16: uint16(0), Bool: uint8(0), Float8E4M3FN: uint8(0), Float8E5M2: uint8(0)}
)

// viewable tells whether elements of d may be viewed as T.
func viewable[T Elem](d DType) bool {
	if d >= numDTypes {
		return false
	}
	if _, ok := goTypes[d].(T); ok {
		return true
	}
	_, ok := bitTypes[d].(T)
	return ok
}
