package engine

// sortBy sorts numbers by less, as a heap. Each type that slices.SortFunc sorts would add 6 kB to a program.
func sortBy(s []int, less func(a, b int) bool) {
	for at, n := len(s)/2, len(s); n > 1; {
		if at > 0 {
			at--
		} else {
			n--
			s[0], s[n] = s[n], s[0]
		}
		sift(s[:n], at, less)
	}
}

// sift restores the heap s below at.
func sift(s []int, at int, less func(a, b int) bool) {
	for child := 2*at + 1; child < len(s); child = 2*at + 1 {
		if child+1 < len(s) && less(s[child], s[child+1]) {
			child++
		}
		if !less(s[at], s[child]) {
			return
		}
		s[at], s[child] = s[child], s[at]
		at = child
	}
}
