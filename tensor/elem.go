package tensor

import (
	"fmt"

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
	own, ok := ownDType[T]()
	return kindOf[T]() == d.kind() && (!ok || own == d)
}

// ownDType returns the result of T's method DType.
func ownDType[T Elem]() (d DType, ok bool) {
	var zero T
	t, ok := any(zero).(interface{ DType() DType })
	if !ok {
		return Invalid, false
	}
	return t.DType(), true
}

// kindOf returns the dtype of T's underlying type. A type switch cannot see that, and package
// reflect is for internal/source alone, so kindOf tests T's arithmetic.
func kindOf[T Elem]() DType {
	var zero T
	one := T(1)
	size := len(memory.BytesOf([]T{zero}))
	tiny := one / 100 / 100 / 100 / 100 / 100
	switch isFloat := one/2 != 0; {
	case isFloat && size == 4:
		return Float32
	case isFloat && one+tiny == one: // 8 bytes whose parts are float32
		return Complex64
	case isFloat:
		return Float64
	case (zero-1)/2 == 0:
		return [...]DType{1: Int8, 2: Int16, 4: Int32, 8: Int64}[size]
	}
	return [...]DType{1: Uint8, 2: Uint16, 4: Uint32, 8: Uint64}[size]
}

// dtypeOf returns the dtype of a slice of T.
func dtypeOf[T Elem]() (DType, error) {
	var zero T
	d, ok := ownDType[T]()
	if kind := kindOf[T](); !ok && (kind != Uint8 && kind != Uint16 || fmt.Sprintf("%T", zero) == kind.String()) {
		d = kind
	}
	if !viewable[T](d) {
		return d, fmt.Errorf("%w: %T fits several dtypes: it needs a method DType", ErrDType, zero)
	}
	return d, nil
}

// floats returns the memory of s as a slice of F if F is T's underlying type.
func floats[F float32 | float64, T Elem](s []T) ([]F, bool) {
	if kindOf[F]() != kindOf[T]() {
		return nil, false
	}
	f, _ := memory.Cast[F](memory.BytesOf(s))
	return f, true
}
