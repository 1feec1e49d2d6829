// Package strided converts tensors that a file stores in another order.
package strided

import (
	"cmp"
	"slices"
)

// axis is a dimension with the distances between neighbors in bytes.
type axis struct{ n, from, to int }

// Gather copies the elements of b to out in row-major order. strides, in elements of size bytes,
// say where they are in b. No dim may be 0.
func Gather(out, b []byte, shape, strides []int64, size int) {
	axes := make([]axis, len(shape))
	to := size
	for i := len(shape) - 1; i >= 0; i-- {
		axes[i] = axis{int(shape[i]), size * int(strides[i]), to}
		to *= int(shape[i])
	}
	// The last two axes are those along which elements are closest on either side.
	axes = slices.DeleteFunc(axes, func(a axis) bool { return a.n == 1 })
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(min(b.from, b.to), min(a.from, a.to)) })
	for len(axes) < 2 {
		axes = append(axes, axis{n: 1})
	}
	gather(out, b, axes, size)
}

// gather copies two axes in tiles, so that both sides stay in the cache.
func gather(out, b []byte, axes []axis, size int) {
	x := axes[0]
	if len(axes) > 2 {
		for i := range x.n {
			gather(out[i*x.to:], b[i*x.from:], axes[1:], size)
		}
		return
	}
	const tile = 32
	y := axes[1]
	for i0 := 0; i0 < x.n; i0 += tile {
		for j0 := 0; j0 < y.n; j0 += tile {
			for i := i0; i < min(i0+tile, x.n); i++ {
				for j := j0; j < min(j0+tile, y.n); j++ {
					copy(out[i*x.to+j*y.to:][:size], b[i*x.from+j*y.from:][:size])
				}
			}
		}
	}
}
