package vector

// ZeroRows counts the rows of a tensor whose numbers all became 0.
type ZeroRows struct {
	// Count counts the rows that had a number that was not 0, and have none now.
	Count int64

	length    int // of a row; 0 counts none
	at        int // in the current row
	was, kept bool
}

// NewZeroRows returns a ZeroRows for a tensor of these dims. A row is what one index of the first
// axis selects; a tensor of one axis has none.
func NewZeroRows(dims []int64) ZeroRows {
	if len(dims) < 2 {
		return ZeroRows{}
	}
	length := int64(1)
	for _, d := range dims[1:] {
		length *= d
	}
	return ZeroRows{length: int(length)}
}

// Add counts the next n numbers: was reports whether number i was not 0 before, and is whether it
// is not 0 now. A row is looked at up to its first number that is not 0 now.
func (r *ZeroRows) Add(n int, was, is func(i int) bool) {
	if r.length <= 0 {
		return
	}
	for from := 0; from < n; {
		to := min(n, from+r.length-r.at)
		for i := from; i < to && !r.kept; i++ {
			r.kept = is(i)
		}
		for i := from; i < to && !r.kept && !r.was; i++ {
			r.was = was(i)
		}
		r.at += to - from
		from = to
		if r.at == r.length {
			if r.was && !r.kept {
				r.Count++
			}
			r.at = 0
			r.was = false
			r.kept = false
		}
	}
}
