package pass

import (
	"cmp"
	"slices"
)

// Span is a range of a numbered file, and the number of what has it.
type Span struct {
	File         int
	Offset, Size int64
	Of           int // -1 for nothing
}

func (s *Span) end() int64 { return s.Offset + s.Size }

// compare orders spans by file and offset.
func compare(a, b Span) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
}

// Cover finds what covers a range.
type Cover []coverSpan

// coverSpan is a span of a Cover, which are in order.
type coverSpan struct {
	Span
	longest int // the index of the span that ends last, of those of the same file up to this one
}

// NewCover returns the Cover of spans.
func NewCover(spans []Span) Cover {
	c := make(Cover, len(spans))
	for i, s := range spans {
		c[i].Span = s
	}
	slices.SortStableFunc(c, func(a, b coverSpan) int { return compare(a.Span, b.Span) })
	for i := range c {
		c[i].longest = i
		if i == 0 || c[i-1].File != c[i].File {
			continue
		}
		before := c[i-1].longest
		if c[before].end() >= c[i].end() {
			c[i].longest = before
		}
	}
	return c
}

// Spans returns the spans, in order.
func (c Cover) Spans() []Span {
	spans := make([]Span, len(c))
	for i := range c {
		spans[i] = c[i].Span
	}
	return spans
}

// Of returns the number of what covers all of a range of a file, or -1.
func (c Cover) Of(file int, off, size int64) int {
	after, _ := slices.BinarySearchFunc(c, Span{File: file, Offset: off}, func(x coverSpan, r Span) int {
		if compare(x.Span, r) <= 0 {
			return -1
		}
		return 1
	})
	if after == 0 || c[after-1].File != file {
		return -1
	}
	longest := &c[c[after-1].longest]
	if longest.end() < off+size {
		return -1
	}
	return longest.Of
}

// Gaps returns the ranges of files that no span of covered has, in order. Those in a span of owners
// have its number, each in a separate span. sizes has the sizes of the files, -1 for one that is
// not asked for.
func Gaps(sizes []int64, covered, owners []Span) []Span {
	slices.SortStableFunc(covered, compare)
	slices.SortStableFunc(owners, compare)
	g := &gaps{owners: owners}
	for n, size := range sizes {
		at := int64(0)
		for len(covered) > 0 && covered[0].File == n {
			g.add(n, at, min(covered[0].Offset, size))
			at = max(at, covered[0].end())
			covered = covered[1:]
		}
		g.add(n, at, size)
	}
	return g.list
}

// gaps lists ranges.
type gaps struct {
	owners []Span // in order; those before the last range are gone
	list   []Span
}

// add adds the bytes of a file from at to end. Files and ranges come in order.
func (g *gaps) add(file int, at, end int64) {
	for at < end {
		for len(g.owners) > 0 && (g.owners[0].File < file || g.owners[0].File == file && g.owners[0].end() <= at) {
			g.owners = g.owners[1:]
		}
		next := Span{File: file, Offset: at, Size: end - at, Of: -1}
		if len(g.owners) > 0 && g.owners[0].File == file && g.owners[0].Offset < end {
			o := &g.owners[0]
			if o.Offset > at {
				next.Size = o.Offset - at
			} else {
				next.Of = o.Of
				next.Size = min(end, o.end()) - at
			}
		}
		g.list = append(g.list, next)
		at += next.Size
	}
}
