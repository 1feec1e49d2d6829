package vector

import (
	"slices"
	"sync"
)

// columns are the parameters of a row of elements, made so that a loop can go on
// for some elements after the end of the row as if the next one had begun.
type columns struct {
	width  int
	scales []float32 // of a row, and once more of as many columns as a step takes
	zeros  []int32   // likewise, or of one step if they are all the same
	step   int       // how many zero points further the next column has its own: 1, or 0
	exact  bool      // all zero points are
}

// spares are columns whose memory is used again.
var spares = sync.Pool{New: func() any { return new(columns) }}

// set repeats the parameters of short rows, which n elements have: not so often
// that making them costs more than using them.
func (c *columns) set(scales []float32, zeros []int32, n int) {
	const wide = 2048 // columns that are worth a call
	times := 1
	if len(scales) < wide {
		times = max(1, min(wide, n/8)/len(scales))
	}
	c.width = len(scales) * times
	c.scales = repeated(c.scales, scales, c.width+lanes)
	c.step = 0
	if first := zeros[0]; slices.ContainsFunc(zeros, func(z int32) bool { return z != first }) {
		c.step = 1
	}
	c.zeros = repeated(c.zeros, zeros, c.width*c.step+lanes)
	c.exact = !slices.ContainsFunc(zeros, func(z int32) bool { return !exact(z) })
}

// repeated returns n elements, those of s over and over, in out where there is room.
func repeated[T any](out, s []T, n int) []T {
	out = slices.Grow(out[:0], n)[:n]
	for done := copy(out, s); done < n; {
		done += copy(out[done:], out[:done])
	}
	return out
}

// Rows is Linear for rows of len(scales) elements, each with the scale and the zero
// point of its column; a single zero point serves all columns. There is at
// least one scale. The first element is of column at; a last row may be incomplete.
func Rows(dst []float32, src []byte, k Kind, scales []float32, zeros []int32, at int) {
	c := spares.Get().(*columns)
	c.set(scales, zeros, len(dst))
	c.fill(dst, src, k, at, large(dst))
	spares.Put(c)
}

func (c *columns) fill(dst []float32, src []byte, k Kind, at int, stream bool) {
	src = src[:len(dst)]
	if c.exact {
		if stream {
			n := unaligned(dst)
			at = c.generic(dst[:n], src, k, at)
			dst, src = dst[n:], src[n:]
		}
		var n int
		n, at = c.vector(dst, src, k, at, stream)
		dst, src = dst[n:], src[n:]
	}
	c.generic(dst, src, k, at)
}

// vector converts all but the last few elements, from column at on, and returns how
// many and the column after them. Steps go across the ends of rows, so that
// those at multiples of a cache line stay there.
func (c *columns) vector(dst []float32, src []byte, k Kind, at int, stream bool) (done, next int) {
	for len(dst)-done >= lanes {
		run := min((c.width-at+lanes-1)&^(lanes-1), (len(dst)-done)&^(lanes-1), block)
		if !rowVector(dst[done:done+run], src[done:done+run], k, c.scales[at:], c.zeros[at*c.step:], c.step, stream) {
			break
		}
		done += run
		at = (at + run) % c.width
	}
	return done, at
}

// generic converts all elements from column at on, and returns the column after them.
func (c *columns) generic(dst []float32, src []byte, k Kind, at int) int {
	for len(dst) > 0 {
		run := min(c.width-at, len(dst))
		row, scales, zeros := src[:run], c.scales[at:at+run], c.zeros[at*c.step:]
		if c.step == 0 {
			zero := int64(zeros[0])
			for i, b := range row {
				dst[i] = linear(k.value(b), zero, float64(scales[i]))
			}
		} else {
			zeros = zeros[:run]
			for i, b := range row {
				dst[i] = linear(k.value(b), int64(zeros[i]), float64(scales[i]))
			}
		}
		dst, src = dst[run:], src[run:]
		if at += run; at == c.width {
			at = 0
		}
	}
	return at
}
