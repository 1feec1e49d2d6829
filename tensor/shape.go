package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Shape lists the dims of a tensor, outermost first; elements are row-major.
// Rank 0 is a scalar: one element. A dim of 0 makes the tensor empty.
type Shape []int64

// Elems returns the number of elements. It returns ErrShape for negative dims and if
// the product of all nonzero dims is 2^63 or more, even if another dim is 0: the dims
// can be multiplied in any order without overflow.
func (s Shape) Elems() (int64, error) { return s.product(1, 1) }

// ByteSize returns the size in bytes of a tensor of this shape. It checks as Elems
// does, with the element size as another factor.
func (s Shape) ByteSize(d DType) (int64, error) {
	if !d.Valid() {
		return 0, fmt.Errorf("%w: %v has no size", ErrDType, d)
	}
	return s.product(d.Size(), 1)
}

// product returns the product of unit and the dims, the last of which is divided by block.
func (s Shape) product(unit, block int64) (int64, error) {
	n := uint64(unit)
	empty := false
	for i, d := range s {
		if d < 0 {
			return 0, fmt.Errorf("%w: dim %d is %d", ErrShape, i, d)
		}
		if d == 0 {
			empty = true
			continue
		}
		if block > 1 && i == len(s)-1 {
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

// Equal reports whether s and t have the same dims.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy of s.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// String returns the dims in brackets, as in "[2, 3]". It abbreviates long shapes.
func (s Shape) String() string {
	const most = 32
	var dims []string
	for _, d := range s[:min(len(s), most)] {
		dims = append(dims, strconv.FormatInt(d, 10))
	}
	if len(s) > most {
		dims = append(dims, fmt.Sprintf("... %d more", len(s)-most))
	}
	return "[" + strings.Join(dims, ", ") + "]"
}
