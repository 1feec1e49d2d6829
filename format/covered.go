package format

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
)

// coverSections lists those of the declared parts that were compared, and what covers them.
func (v *verification) coverSections(compared []int, c pass.Cover) {
	d := v.m.declared()
	for _, k := range compared {
		if d.list[k].Hidden {
			continue
		}
		by := d.own(k)
		if by == "" {
			by = d.around(k, c)
		}
		v.coverage.sections = append(v.coverage.sections, Covered{d.list[k].Name, by})
	}
}

// coveredBy returns what covers tensor i among the declared checksums, or "".
func (v *verification) coveredBy(i int, c pass.Cover) string {
	d := v.m.declared()
	from, to := v.m.sumsOf(i)
	for k := from; k < to; k++ {
		if by := d.of(k); by != "" {
			return by
		}
	}
	for k := from; k < to; k++ {
		if by := d.around(k, c); by != "" {
			return by
		}
	}
	return ""
}

// uncovered lists the ranges of all files that no checksum covers.
func (v *verification) uncovered(c pass.Cover) []uncoveredRange {
	m := v.m
	covered := c.Spans()
	for _, n := range v.named {
		covered = append(covered, pass.Span{File: int(n), Size: m.spaces.files[n].statSize()})
	}
	tensors := m.index.Len()
	var owners []pass.Span // tensors, and parts behind them
	for i := range tensors {
		space, at, size := m.index.Place(i)
		if at < 0 || size == 0 {
			continue
		}
		s := pass.Span{File: int(space), Offset: at, Size: size, Of: i}
		if v.tensorSum(i).Kind != driver.NoSum {
			covered = append(covered, s)
			continue
		}
		owners = append(owners, s)
	}
	rest := "" // the part that has what no other part and no tensor has
	d := m.declared()
	for k := range d.list {
		s := &d.list[k]
		if s.Hidden || d.own(k) != "" {
			continue
		}
		if len(s.Ranges) == 0 {
			rest = s.Name
		}
		for _, r := range s.Ranges {
			owners = append(owners, spanOf(r, tensors+k))
		}
	}
	var sizes []int64
	for n, f := range m.spaces.files {
		size := f.statSize()
		if n == 0 && m.isDir {
			size = -1
		}
		sizes = append(sizes, size)
	}
	var list []uncoveredRange
	for _, g := range pass.Gaps(sizes, covered, owners) {
		r := uncoveredRange{File: g.File, Offset: g.Offset, Size: g.Size, Tensor: -1, Part: rest}
		if g.Of >= tensors {
			r.Part = d.list[g.Of-tensors].Name
		} else if g.Of >= 0 {
			r.Tensor = g.Of
			r.Part = ""
		}
		list = append(list, r)
	}
	return list
}
