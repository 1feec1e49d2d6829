package gguf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

// notes lists tolerated oddities.
func (f *parsed) notes() (notes []string) {
	add := func(n int, one, more, text string, args ...any) {
		if n > 1 {
			one = more
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s ", n, one)+fmt.Sprintf(text, args...))
		}
	}
	key, n := f.repeated()
	add(n, "metadata entry has", "metadata entries have", "a key that occurs before, such as %q: the first counts", key)
	if a, b, n := f.overlapping(); n > 0 {
		add(n, "tensor begins", "tensors begin", "inside another one, such as %q in %q", f.index.Name(b), f.index.Name(a))
	}
	long := 0
	for i := range f.index.Len() {
		if len(f.index.Name(i)) >= usualName {
			long++
		}
	}
	add(long, "tensor has", "tensors have", "a name of %d bytes or more, which some readers refuse", usualName)
	for i := range f.parts {
		p := &f.parts[i]
		if n := p.size - p.end; n >= p.align && p.size < driver.UnknownSize {
			add(int(n), "byte follows", "bytes follow", "the last tensor")
		}
	}
	return notes
}

// repeated counts the entries whose key occurred before.
func (f *parsed) repeated() (key string, n int) {
	for i := range f.parts {
		seen := make(map[string]bool, f.parts[i].count)
		for e := range entries(f.parts[i].meta) {
			if seen[string(e.key)] {
				key = string(e.key)
				n = n + 1
			}
			seen[string(e.key)] = true
		}
	}
	return key, n
}

// overlapping counts the tensors that begin where the data of another has not
// ended, and names one such pair.
func (f *parsed) overlapping() (a, b, n int) {
	type extent struct {
		space     driver.Space
		from, end int64
		tensor    int
	}
	all := make([]extent, 0, f.index.Len())
	for i := range f.index.Len() {
		if s, from, size := f.index.Place(i); size > 0 {
			all = append(all, extent{s, from, from + size, i})
		}
	}
	slices.SortStableFunc(all, func(a, b extent) int { return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.from, b.from)) })
	var last extent // the one that ends last in its file
	for _, e := range all {
		if e.space != last.space {
			last = extent{space: e.space}
		}
		if e.from < last.end {
			a = last.tensor
			b = e.tensor
			n = n + 1
		}
		if e.end > last.end {
			last = e
		}
	}
	return a, b, n
}
