package format

import (
	"cmp"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
)

// right returns the form of declared checksum k that is right, and its digest: the first, if it was not compared. Both are nil
// for a part without a checksum, and for one that a function compares.
func (d *sums) right(k int) (*driver.Sum, *driver.Digest) {
	state := &d.states[k]
	state.mu.Lock()
	form := state.form
	state.mu.Unlock()
	for f := &d.list[k]; f != nil; f = f.Or {
		if form < len(f.Accept) {
			return f, &f.Accept[form]
		}
		form -= len(f.Accept)
	}
	return nil, nil
}

// own returns the name of the digest of a declared checksum that is right, or "".
func (d *sums) own(k int) string {
	s := &d.list[k]
	if s.Check != nil {
		return s.By
	}
	_, digest := d.right(k)
	if digest == nil {
		return ""
	}
	return digest.Name()
}

// of returns what covers the bytes of tensors or parts in the ranges of a declared checksum: "crc32 of the weights".
func (d *sums) of(k int) string {
	name := d.own(k)
	if name == "" {
		return ""
	}
	return cmp.Or(d.list[k].By, name+" of the "+d.list[k].Name)
}

// covering returns the ranges that declared checksums cover, with their numbers.
func (d *sums) covering() pass.Cover {
	var list []pass.Span
	for k := range d.list {
		if d.own(k) == "" {
			continue
		}
		s, _ := d.right(k)
		if s == nil {
			s = &d.list[k]
		}
		for _, r := range s.Ranges {
			list = append(list, spanOf(r, k))
		}
	}
	return pass.NewCover(list)
}

// spanOf returns a range of a file with a number.
func spanOf(r driver.Range, of int) pass.Span {
	return pass.Span{File: int(r.Space), Offset: r.Offset, Size: r.Size, Of: of}
}

// around returns what covers all ranges of declared part k, which has no checksum, or "".
func (d *sums) around(k int, c pass.Cover) string {
	by := ""
	for _, r := range d.list[k].Ranges {
		n := c.Of(int(r.Space), r.Offset, r.Size)
		if n < 0 {
			return ""
		}
		by = d.of(n)
	}
	return by
}

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

// uncoveredRange is a range of a file of a model that no checksum covers.
type uncoveredRange struct {
	File         int // number
	Offset, Size int64
	Tensor       int    // that has these bytes, or -1
	Part         string // if no tensor has them
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
