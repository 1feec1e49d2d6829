package tensor

import "fmt"

// Integer lists the types that Dims returns.
type Integer interface {
	~int | ~int64 | ~int32 | ~int16 | ~int8 | ~uint | ~uint64 | ~uint32 | ~uint16 | ~uint8 | ~uintptr
}

// Dims returns the dims of s as integers of another type, such as the []int of other libraries. The
// error is ErrShape if a dim is negative or does not fit.
func Dims[T Integer](s Shape) ([]T, error) {
	dims := make([]T, len(s))
	for i, d := range s {
		dims[i] = T(d)
		if d < 0 || dims[i] < 0 || uint64(dims[i]) != uint64(d) {
			return nil, fmt.Errorf("%w: dim %d is %d, which %T does not hold", ErrShape, i, d, dims[i])
		}
	}
	return dims, nil
}
