package gguf

import (
	"cmp"
	"fmt"
	"slices"
)

// notes lists tolerated oddities.
func (f *parsed) notes() []string {
	var notes []string
	add := func(text string, args ...any) { notes = append(notes, fmt.Sprintf(text, args...)) }
	if f.alone != "" {
		add("%s", f.alone)
	}
	if key, n := f.repeated(); n > 0 {
		add("%s a key that occurs before, such as %q: the first counts", plural(n, "metadata entry has", "metadata entries have"), key)
	}
	if a, b, n := f.overlapping(); n > 0 {
		add("%s inside another one, such as %q in %q", plural(n, "tensor begins", "tensors begin"), f.index.Name(b), f.index.Name(a))
	}
	long := 0
	for i := range f.index.Len() {
		if len(f.index.Name(i)) >= usualName {
			long++
		}
	}
	if long > 0 {
		add("%s a name of %d bytes or more, which some readers refuse", plural(long, "tensor has", "tensors have"), usualName)
	}
	for i := range f.parts {
		p := &f.parts[i]
		if n := p.size - p.end; n >= p.align {
			add("%s the last tensor", plural(int(n), "byte follows", "bytes follow"))
		}
	}
	return notes
}

// repeated counts the entries whose key occurred before.
func (f *parsed) repeated() (key string, n int) {
	for i := range f.parts {
		seen := make(map[string]bool, f.parts[i].count)
		for e := range entries(whole(f.parts[i].meta)) {
			if seen[string(e.key)] {
				key, n = string(e.key), n+1
			}
			seen[string(e.key)] = true
		}
	}
	return key, n
}

// overlapping counts the tensors that begin where the data of another has not
// ended, and names one such pair.
func (f *parsed) overlapping() (a, b, n int) {
	order := make([]int, 0, f.index.Len())
	for i := range f.index.Len() {
		if f.index.Size(i) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		s, from, _ := f.index.Place(i)
		t, to, _ := f.index.Place(j)
		return cmp.Or(cmp.Compare(s, t), cmp.Compare(from, to))
	})
	reach := -1 // the tensor that ends last
	for _, i := range order {
		s, from, size := f.index.Place(i)
		if reach >= 0 {
			if t, at, n0 := f.index.Place(reach); s == t && from < at+n0 {
				a, b, n = reach, i, n+1
				if from+size <= at+n0 {
					continue
				}
			}
		}
		reach = i
	}
	return a, b, n
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
