package format

import (
	"cmp"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
)

// sums are the checksums that the format of a model has declared.
type sums struct {
	once   sync.Once
	list   []driver.Sum
	states []sumState
}

// sumState is what is known of a declared checksum.
type sumState struct {
	mu     sync.Mutex
	passed bool  // since the model was opened
	err    error // a lasting error
	form   int   // the number of the digest that was right
}

// setForm records that the digest with a number was right, and whether that holds for the first
// use.
func (d *sums) setForm(k, form int, hasPassed bool) {
	s := &d.states[k]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.form = form
	s.passed = s.passed || hasPassed
}

// right returns the form of declared checksum k that is right, and its digest: the first, if it was
// not compared. Both are nil for a part without a checksum, and for one that a function compares.
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

// of returns what covers the bytes of tensors or parts in the ranges of a declared checksum: "crc32
// of the weights".
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

// blamed returns the file that errors about s name.
func blamed(s *driver.Sum) driver.Space {
	d := &s.Accept[0]
	if d.Field == "" && len(s.Ranges) > 0 {
		return s.Ranges[0].Space
	}
	return d.Space
}

// countedBytes returns the number of bytes that comparing s counts.
func countedBytes(s *driver.Sum) int64 {
	if s.Content != nil || s.Check != nil {
		return s.Size
	}
	if len(s.Accept) == 0 {
		return 0
	}
	n := int64(0)
	for _, r := range s.Ranges {
		n += r.Size
	}
	for _, r := range s.Zeroed {
		n -= r.Size
	}
	return n
}

// isCompared reports whether s has anything to compare bytes with, and is not only read.
func isCompared(s *driver.Sum) bool {
	isSum := func(d driver.Digest) bool { return d.Hash != nil || d.Kind != driver.NoSum }
	return s.Check != nil || slices.ContainsFunc(s.Accept, isSum)
}
