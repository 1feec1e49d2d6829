package tensor

import (
	"fmt"
	"reflect"

	"github.com/weightmap/weightmap/internal/memory"
)

// Elem lists the Go types that elements can be viewed or decoded as; types defined by them
// qualify too. A tensor of dtype Bool is viewed as uint8, not bool: a file may hold any byte,
// but a Go bool must be 0 or 1.
//
// A type with a method DType() DType, such as F16 and BF16, has that dtype only. Any other
// type whose underlying type is uint16 can hold uint16, float16 and bfloat16, and one whose
// underlying type is uint8 can hold uint8, bool and the float8 types.
type Elem interface {
	~float64 | ~float32 | ~int64 | ~int32 | ~int16 | ~int8 |
		~uint64 | ~uint32 | ~uint16 | ~uint8 | ~complex64
}

// viewable reports whether elements of d may be viewed as T, which may be a defined type.
func viewable[T Elem](d DType) bool {
	kind := predeclared[T]()
	if kind != Invalid {
		return kind == d.kind()
	}
	own, ok := ownDType[T]()
	return kindOf[T]() == d.kind() && (!ok || own == d)
}

// predeclared returns the dtype of T if that is a predeclared type, which has no methods. With only
// kindOf and ownDType, As takes 1.5 times as long.
func predeclared[T Elem]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case complex64:
		return Complex64
	}
	return Invalid
}

// typed is a type of elements that stands for one dtype, such as F16.
type typed interface{ DType() DType }

// ownDType returns the result of T's method DType.
func ownDType[T Elem]() (d DType, ok bool) {
	var zero T
	t, ok := any(zero).(typed)
	if !ok {
		return Invalid, false
	}
	return t.DType(), true
}

// kindOf returns the dtype of T's underlying type, which a type switch cannot see.
func kindOf[T Elem]() DType { return goKinds[reflect.TypeFor[T]().Kind()] }

var goKinds = [...]DType{
	reflect.Float64:   Float64,
	reflect.Float32:   Float32,
	reflect.Int64:     Int64,
	reflect.Int32:     Int32,
	reflect.Int16:     Int16,
	reflect.Int8:      Int8,
	reflect.Uint64:    Uint64,
	reflect.Uint32:    Uint32,
	reflect.Uint16:    Uint16,
	reflect.Uint8:     Uint8,
	reflect.Complex64: Complex64,
}

// dtypeOf returns the dtype of a slice of T.
func dtypeOf[T Elem]() (DType, error) {
	d, ok := ownDType[T]()
	if ok && viewable[T](d) {
		return d, nil
	}
	var zero T
	kind := kindOf[T]()
	isDefined := predeclared[T]() == Invalid
	if ok || isDefined && (kind == Uint8 || kind == Uint16) {
		return d, fmt.Errorf("%w: %T fits several dtypes: it needs a method DType", ErrDType, zero)
	}
	return kind, nil
}

// floats returns the memory of s as a slice of F if F is T's underlying type.
func floats[F float32 | float64, T Elem](s []T) ([]F, bool) {
	if kindOf[F]() != kindOf[T]() {
		return nil, false
	}
	f, _ := memory.Cast[F](memory.BytesOf(s))
	return f, true
}
