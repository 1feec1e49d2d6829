package format

import (
	"cmp"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
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

// covering has the ranges that declared checksums cover, in the order of the files.
type covering []coveredRange

// coveredRange is a range that declared checksum sum covers.
type coveredRange struct {
	driver.Range
	sum     int
	longest int // the index of the range that ends last, of those of the same file up to this one
}

func (r *coveredRange) end() int64 { return r.Offset + r.Size }

// covering returns the ranges that declared checksums cover.
func (d *sums) covering() covering {
	var list covering
	for k := range d.list {
		if d.own(k) == "" {
			continue
		}
		s, _ := d.right(k)
		if s == nil {
			s = &d.list[k]
		}
		for _, r := range s.Ranges {
			list = append(list, coveredRange{Range: r, sum: k})
		}
	}
	slices.SortStableFunc(list, func(a, b coveredRange) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Offset, b.Offset))
	})
	for i := range list {
		list[i].longest = i
		if i == 0 || list[i-1].Space != list[i].Space {
			continue
		}
		before := list[i-1].longest
		if list[before].end() >= list[i].end() {
			list[i].longest = before
		}
	}
	return list
}

// of returns the number of a checksum that covers all of r, or -1.
func (c covering) of(r driver.Range) int {
	after, _ := slices.BinarySearchFunc(c, r, func(x coveredRange, r driver.Range) int {
		if cmp.Or(cmp.Compare(x.Space, r.Space), cmp.Compare(x.Offset, r.Offset)) <= 0 {
			return -1
		}
		return 1
	})
	if after == 0 || c[after-1].Space != r.Space {
		return -1
	}
	longest := &c[c[after-1].longest]
	if longest.end() < r.Offset+r.Size {
		return -1
	}
	return longest.sum
}

// around returns what covers all ranges of declared part k, which has no checksum, or "".
func (d *sums) around(k int, c covering) string {
	by := ""
	for _, r := range d.list[k].Ranges {
		n := c.of(r)
		if n < 0 {
			return ""
		}
		by = d.of(n)
	}
	return by
}

// coverSections lists those of the declared parts that were compared, and what covers them.
func (v *verification) coverSections(compared []int, c covering) {
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
func (v *verification) coveredBy(i int, c covering) string {
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
func (v *verification) uncovered(c covering) []uncoveredRange {
	files := v.m.spaces.files
	covered := make([]driver.Range, 0, len(c))
	for i := range c {
		covered = append(covered, c[i].Range)
	}
	for _, s := range v.named {
		covered = append(covered, driver.Range{Space: s, Size: files[s].statSize()})
	}
	var owners []uncoveredRange // of tensors and parts
	for i := range v.m.index.Len() {
		space, at, size := v.m.index.Place(i)
		if at < 0 || size == 0 {
			continue
		}
		if v.tensorSum(i).Kind != driver.NoSum {
			covered = append(covered, driver.Range{Space: space, Offset: at, Size: size})
			continue
		}
		owners = append(owners, uncoveredRange{File: int(space), Offset: at, Size: size, Tensor: i})
	}
	rest := ""
	d := v.m.declared()
	for k := range d.list {
		s := &d.list[k]
		if s.Hidden || d.own(k) != "" {
			continue
		}
		if len(s.Ranges) == 0 {
			rest = s.Name
		}
		for _, r := range s.Ranges {
			owners = append(owners, uncoveredRange{File: int(r.Space), Offset: r.Offset, Size: r.Size, Tensor: -1, Part: s.Name})
		}
	}
	slices.SortFunc(covered, func(a, b driver.Range) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Offset, b.Offset))
	})
	slices.SortStableFunc(owners, func(a, b uncoveredRange) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	g := &gaps{owners: owners, rest: rest}
	for n, f := range files {
		size := f.statSize()
		isDir := n == 0 && v.m.isDir
		at := int64(0)
		for len(covered) > 0 && int(covered[0].Space) == n {
			r := covered[0]
			covered = covered[1:]
			if !isDir {
				g.add(n, at, min(r.Offset, size))
			}
			at = max(at, r.Offset+r.Size)
		}
		if !isDir {
			g.add(n, at, size)
		}
	}
	return g.list
}

// gaps lists ranges that no checksum covers, and whose they are.
type gaps struct {
	owners []uncoveredRange // sorted
	rest   string           // the part that has what no owner has
	list   []uncoveredRange
}

// add adds the bytes of a file from at to end. Files and ranges come in order.
func (g *gaps) add(file int, at, end int64) {
	for at < end {
		for len(g.owners) > 0 && (g.owners[0].File < file || g.owners[0].File == file && g.owners[0].Offset+g.owners[0].Size <= at) {
			g.owners = g.owners[1:]
		}
		next := uncoveredRange{File: file, Offset: at, Size: end - at, Tensor: -1, Part: g.rest}
		if len(g.owners) > 0 && g.owners[0].File == file && g.owners[0].Offset < end {
			o := &g.owners[0]
			if o.Offset > at {
				next.Size = o.Offset - at
			} else {
				next.Tensor = o.Tensor
				next.Part = o.Part
				next.Size = min(end, o.Offset+o.Size) - at
			}
		}
		g.list = append(g.list, next)
		at += next.Size
	}
}
