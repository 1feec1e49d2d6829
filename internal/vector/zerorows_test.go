package vector

import "testing"

// TestZeroRows counts rows in pieces of each size.
func TestZeroRows(t *testing.T) {
	before := []int{1, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 4, 5, 6, 7}
	after := []int{0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0} // rows of 3: gone, 0 before, kept, gone, gone
	for size := 1; size <= len(before); size++ {
		r := NewZeroRows([]int64{5, 3})
		for from := 0; from < len(before); from += size {
			n := min(size, len(before)-from)
			r.Add(n, func(i int) bool { return before[from+i] != 0 }, func(i int) bool { return after[from+i] != 0 })
		}
		if r.Count != 3 {
			t.Errorf("pieces of %d: %d rows, want 3", size, r.Count)
		}
	}
	for _, dims := range [][]int64{nil, {3}, {3, 0}} {
		r := NewZeroRows(dims)
		r.Add(3, func(int) bool { return true }, func(int) bool { return false })
		if r.Count != 0 {
			t.Errorf("%v has no rows, but %d became 0", dims, r.Count)
		}
	}
}
