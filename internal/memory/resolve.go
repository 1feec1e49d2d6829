package memory

import (
	"fmt"
	"math"
	"strconv"
)

// Resolve checks ranges of the axes of a shape and appends absolute ranges for all axes to sel.
// Negative numbers count from the end, math.MaxInt64 is the end, and an axis without a range is
// selected whole.
func Resolve[R ~struct{ From, To int64 }](sel []R, shape []int64, ranges []R) ([]R, error) {
	if len(ranges) > len(shape) {
		return nil, fmt.Errorf("%d ranges for rank %d", len(ranges), len(shape))
	}
	for i, d := range shape {
		r := struct{ From, To int64 }{0, math.MaxInt64}
		if i < len(ranges) {
			r = ranges[i]
		}
		if r.From == 0 && r.To == 0 && d > 0 {
			return nil, fmt.Errorf("the range of axis %d is 0:0, which selects nothing", i)
		}
		from := fromEnd(r.From, d)
		to := fromEnd(r.To, d)
		if r.To == math.MaxInt64 {
			to = d
		}
		if from < 0 || from > to || to > d {
			end := ""
			if r.To != math.MaxInt64 {
				end = strconv.FormatInt(r.To, 10)
			}
			return nil, fmt.Errorf("range %d:%s of axis %d, which has %d", r.From, end, i, d)
		}
		sel = append(sel, R{from, to})
	}
	return sel, nil
}

// fromEnd returns an index into an axis of d elements, counted from its end if it is negative.
func fromEnd(i, d int64) int64 {
	if i < 0 {
		return i + d
	}
	return i
}

// Runs are the selected bytes of a tensor: Count runs of Bytes contiguous bytes, none of which is
// empty.
type Runs struct {
	Count, Bytes int64
	Unit         int64 // size of an indivisible part: an element or a block
	first        int64
	axes         []axis // that separate the runs, innermost first
}

type axis struct{ n, stride int64 }

// RunsOf returns the runs of a selection that Resolve returned.
func RunsOf[R ~struct{ From, To int64 }](shape []int64, sel []R, unit int64) Runs {
	r := Runs{Count: 1, Bytes: unit, Unit: unit}
	stride := unit
	contiguous := true
	for i := len(shape) - 1; i >= 0; i-- {
		s := struct{ From, To int64 }(sel[i])
		n := s.To - s.From
		r.first += s.From * stride
		switch {
		case n == 0:
			return Runs{}
		case contiguous:
			r.Bytes *= n
		case n > 1:
			r.Count *= n
			r.axes = append(r.axes, axis{n, stride})
		}
		contiguous = contiguous && n == shape[i]
		stride *= shape[i]
	}
	return r
}

// At returns the offset of run k in the tensor.
func (r *Runs) At(k int64) int64 {
	off := r.first
	for _, a := range r.axes {
		off += k % a.n * a.stride
		k /= a.n
	}
	return off
}

// InBlocks changes a shape and its selected ranges to ones with the innermost axis in blocks of n
// elements. It reports false, and changes nothing, if a range begins or ends inside a block.
func InBlocks[R ~struct{ From, To int64 }](shape []int64, sel []R, n int64) bool {
	last := len(shape) - 1
	if n == 1 || last < 0 {
		return true
	}
	r := struct{ From, To int64 }(sel[last])
	if r.From%n != 0 || r.To%n != 0 || shape[last]%n != 0 {
		return false
	}
	shape[last] /= n
	sel[last] = R{r.From / n, r.To / n}
	return true
}
