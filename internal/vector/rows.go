package vector

import "slices"

// columns are the parameters of a row of elements, made so that a loop can go on
// for some elements after the end of the row as if the next one had begun.
type columns struct {
	width  int
	scales []float32 // of a row, and once more of as many columns as a step takes
	zeros  []int32   // likewise, or of one step if they are all the same
	step   int       // how many zero points further the next column has its own: 1, or 0
	exact  bool      // all zero points are
}

// newColumns repeats the parameters of short rows, which n elements have: not so often
// that making them costs more than using them.
func newColumns(scales []float32, zeros []int32, n int) *columns {
	const wide = 2048 // columns that are worth a call
	width := len(scales)
	times := 1
	if width < wide {
		times = max(1, min(wide, n/8)/width)
	}
	c := &columns{width: width * times}
	c.scales = repeated(scales, c.width+lanes)
	first := zeros[0]
	if !slices.ContainsFunc(zeros, func(z int32) bool { return z != first }) {
		c.zeros = repeated([]int32{first}, lanes)
	} else {
		c.zeros, c.step = repeated(zeros, c.width+lanes), 1
	}
	c.exact = !slices.ContainsFunc(zeros, func(z int32) bool { return !exact(z) })
	return c
}

// repeated returns n elements, those of s over and over.
func repeated[T any](s []T, n int) []T {
	out := make([]T, n)
	for done := copy(out, s); done < n; {
		done += copy(out[done:], out[:done])
	}
	return out
}

// Rows is Linear for rows of len(scales) elements, each with the scale and the zero
// point of its column; a single zero point serves all columns. There is at
// least one scale, and a last row may be incomplete.
func Rows(dst []float32, src []byte, k Kind, scales []float32, zeros []int32) {
	newColumns(scales, zeros, len(dst)).fill(dst, src, k, large(dst))
}

func (c *columns) fill(dst []float32, src []byte, k Kind, stream bool) {
	src = src[:len(dst)]
	at := 0
	if c.exact {
		if stream {
			n := unaligned(dst)
			at = c.generic(dst[:n], src, k, 0)
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
