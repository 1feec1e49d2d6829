package gguf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

// notes lists tolerated oddities.
func (f *parsed) notes() []string {
	var notes []string
	key, n := f.repeated()
	if n > 0 {
		what := plural(n, "metadata entry has", "metadata entries have")
		notes = append(notes,
			fmt.Sprintf("%s a key that occurs before, such as %q: the first counts", what, key))
	}
	outer, inner, n := f.overlapping()
	if n > 0 {
		what := plural(n, "tensor begins", "tensors begin")
		notes = append(notes, fmt.Sprintf("%s inside another one, such as %q in %q", what,
			f.index.Name(inner), f.index.Name(outer)))
	}
	long := 0
	for i := range f.index.Len() {
		if len(f.index.Name(i)) >= usualName {
			long++
		}
	}
	if long > 0 {
		what := plural(long, "tensor has", "tensors have")
		notes = append(notes,
			fmt.Sprintf("%s a name of %d bytes or more, which some readers refuse", what, usualName))
	}
	for i := range f.parts {
		p := &f.parts[i]
		n := p.size - p.end
		if n >= p.align && p.size < driver.UnknownSize {
			notes = append(notes, plural(int(n), "byte follows", "bytes follow")+" the last tensor")
		}
	}
	return notes
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// repeated counts the entries whose key occurred before.
func (f *parsed) repeated() (key string, n int) {
	for i := range f.parts {
		seen := make(map[string]bool, len(f.parts[i].entries))
		for _, e := range f.parts[i].entries {
			if seen[e.key] {
				key = e.key
				n++
			}
			seen[e.key] = true
		}
	}
	return key, n
}

// overlapping counts the tensors that begin where the data of another has not
// ended, and names one such pair.
func (f *parsed) overlapping() (outer, inner, n int) {
	type tensorRange struct {
		space     driver.Space
		from, end int64
		tensor    int
	}
	all := make([]tensorRange, 0, f.index.Len())
	for i := range f.index.Len() {
		space, from, size := f.index.Place(i)
		if size > 0 {
			all = append(all, tensorRange{space, from, from + size, i})
		}
	}
	slices.SortStableFunc(all, func(a, b tensorRange) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.from, b.from))
	})
	var last tensorRange // the one that ends last in its file
	for _, r := range all {
		if r.space != last.space {
			last = tensorRange{space: r.space}
		}
		if r.from < last.end {
			outer = last.tensor
			inner = r.tensor
			n++
		}
		if r.end > last.end {
			last = r
		}
	}
	return outer, inner, n
}
