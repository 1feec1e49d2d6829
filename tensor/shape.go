package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Shape lists the dims of a tensor, outermost first; elements are row-major.
// Rank 0 is a scalar: one element. A dim of 0 makes the tensor empty.
type Shape []int64

// Elems returns the number of elements. Negative dims and products of 2^63 or
// more are ErrShape, also when another dim is 0: the product of the dims that
// are not 0 must fit, so that no order of multiplication can overflow.
func (s Shape) Elems() (int64, error) { return s.product(1, 1) }

// ByteSize returns the number of bytes of a tensor of this shape, with the
// same checks as Elems on the product including the element size.
func (s Shape) ByteSize(d DType) (int64, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("%w: %v has no size", ErrDType, d)
	}
	return s.product(d.Size(), 1)
}

// product multiplies the dims, of which the last counts in blocks, with unit.
func (s Shape) product(unit, block int64) (int64, error) {
	n, empty := uint64(unit), false
	for i, d := range s {
		if d < 0 {
			return 0, fmt.Errorf("%w: dim %d is %d", ErrShape, i, d)
		}
		if d == 0 {
			empty = true
			continue
		}
		if i == len(s)-1 {
			d /= block
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("%w: the product of %v overflows", ErrShape, s)
		}
		n = lo
	}
	if empty {
		return 0, nil
	}
	return int64(n), nil
}

// Equal reports whether both have the same dims.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// String returns the dims in brackets, "[2, 3]"; long shapes are cut short.
func (s Shape) String() string {
	const most = 32
	b := []byte{'['}
	for i, d := range s {
		sep := ", "
		if i == 0 {
			sep = ""
		}
		b = append(b, sep...)
		if i == most {
			b = fmt.Appendf(b, "... %d more", len(s)-i)
			break
		}
		b = strconv.AppendInt(b, d, 10)
	}
	return string(append(b, ']'))
}
