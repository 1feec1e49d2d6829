package format

import (
	"errors"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// declared returns the declared checksums. It is called between Enter and Leave.
func (m *Model) declared() *sums {
	s := &m.declaredSums
	s.once.Do(func() {
		if m.parsed.Sums == nil {
			return
		}
		s.list = m.parsed.Sums()
		s.states = make([]sumState, len(s.list))
	})
	return s
}

// sumsOf returns the range of the declared checksums that cover tensor i. It is called between
// Enter and Leave.
func (m *Model) sumsOf(i int) (from, to int) {
	if m.parsed.SumsOf == nil {
		return 0, 0
	}
	m.declared() // which SumsOf needs
	return m.parsed.SumsOf(i)
}

// Compare implements driver.Verification.
func (v *verification) Compare(k int) error {
	d := v.m.declared()
	form, err := v.compareSum(v, &d.list[k])
	if err != nil {
		return err
	}
	d.setForm(k, form, true)
	return nil
}

// Content implements checksum.Files.
func (v *verification) Content(s *driver.Sum) (uint64, error) { return s.Content(v) }

// compareSum compares a declared checksum, of which files computes the parts, and returns the number
// of the digest that is right.
func (v *verification) compareSum(files checksum.Files, s *driver.Sum) (form int, err error) {
	if s.Check != nil {
		return 0, s.Check(v)
	}
	if len(s.Accept) == 0 {
		return 0, nil
	}
	v.m.sums.Add(1)
	form, err = checksum.Compare(files, s)
	if err != nil {
		err = wire.Place(v.m.ofData(err, s), "", v.m.spaces.files[blamed(s)].path(), "")
	}
	return form, err
}

// ofData adds the name of the file that differs to an error, if a checksum in another file says so.
func (m *Model) ofData(err error, s *driver.Sum) error {
	e, ok := err.(*tensor.Error)
	if !ok || !errors.Is(err, tensor.ErrChecksum) || len(s.Ranges) == 0 || s.Ranges[0].Space == blamed(s) {
		return err
	}
	c := *e
	c.Err = m.spaces.files[s.Ranges[0].Space].external(e.Err)
	return &c
}

// wantedSums lists the declared checksums to compare: those that cover no tensor, and those of the
// wanted tensors.
func (v *verification) wantedSums() (list []int) {
	d := v.m.declared()
	covering := make([]bool, len(d.list))
	wanted := make([]bool, len(d.list))
	for i := range v.m.index.Len() {
		from, to := v.m.sumsOf(i)
		for k := from; k < to; k++ {
			covering[k] = true
			wanted[k] = wanted[k] || v.Wanted(i)
		}
	}
	for k := range d.list {
		s := &d.list[k]
		switch {
		case s.All && !v.isWhole():
		case wanted[k], !covering[k], s.Structure, v.o.Trusted != nil && isOwn(s):
			list = append(list, k)
		}
	}
	return list
}

// isOwn reports whether s covers bytes of the model's own file, which a signature in the file
// covers.
func isOwn(s *driver.Sum) bool { return len(s.Ranges) > 0 && s.Ranges[0].Space == 0 }

// compareSums compares declared checksums. Without the key of an encrypted file it compares what
// needs none, and then returns ErrKey.
func (v *verification) compareSums(list []int) error {
	d := v.m.declared()
	var mu sync.Mutex
	var locked error // of the first one that needs the key
	first := len(list)
	err := v.Each(len(list), func(n int) error {
		k := list[n]
		form, err := v.compareSum(v, &d.list[k])
		if errors.Is(err, tensor.ErrKey) && !errors.Is(err, tensor.ErrSignature) {
			mu.Lock()
			defer mu.Unlock()
			if n < first {
				first = n
				locked = err
			}
			return nil
		}
		if err != nil {
			return err
		}
		d.setForm(k, form, false)
		return nil
	})
	if err != nil {
		return err
	}
	return locked
}

// parsedIn reports whether Parse has read structure in the ranges of s.
func (m *Model) parsedIn(s *driver.Sum) bool {
	for _, r := range s.Ranges {
		if m.spaces.structure.Overlaps(uint32(r.Space), r.Offset, r.Offset+r.Size) {
			return true
		}
	}
	return false
}
