package torch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/strided"
	"github.com/weightmap/weightmap/internal/wire"
)

// load returns the little-endian elements of tensor i in row-major order. It handles strides,
// deflated storages and big-endian files.
func (m *model) load(i int) ([]byte, error) {
	b, err := m.gathered(i)
	return b, m.located(i, err)
}

// An expanded tensor repeats the elements of its storage. These limit the size of the copy.
const (
	expandFloor = 1 << 30
	expandRatio = 16
)

func (m *model) gathered(i int) ([]byte, error) {
	p, size := &m.places[i], m.index.Size(i)
	s := &m.stores[p.store]
	if most := max(expandFloor, expandRatio*s.Size); size > most {
		return nil, fmt.Errorf("%w: it repeats %d bytes up to %d, at most %d are made", format.ErrLimit, p.extent, size, most)
	}
	if err := wire.CheckSize(size); err != nil {
		return nil, err
	}
	// The engine has reserved memory for the tensor, but not for its source.
	aside := p.extent
	if s.Packed {
		aside = s.Size
	} else if s.src.InMemory() {
		aside = 0
	}
	err := m.memory.Reserve(aside)
	if err != nil {
		return nil, err
	}
	defer m.memory.Release(aside)
	var b []byte
	if s.Packed {
		if b, err = s.Content(s.src); err == nil {
			b = b[p.from : p.from+p.extent]
		}
	} else {
		b, err = s.src.Slice(s.At+p.from, p.extent)
	}
	if err != nil {
		return nil, err
	}
	out := memory.Aligned(int(size))
	if p.stride == nil {
		copy(out, b)
	} else {
		strided.Gather(out, b, m.index.Shape(i), p.stride, int(p.elem.size))
	}
	if s.big {
		strided.Swap(out, p.elem.word)
	}
	return out, nil
}

// located adds the name and file of tensor i to an error without a location.
func (m *model) located(i int, err error) error {
	var e *format.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	s := &m.stores[m.places[i].store]
	return wire.InFile(wire.Error("", fmt.Sprintf("tensor %q", m.index.Name(i)), s.At, err), s.src.Path())
}

// touch checks the CRC-32 of tensor i's storage before the first access.
func (m *model) touch(v driver.Verification, i int) (all bool, err error) {
	n := m.places[i].store
	if !m.stores[n].zipped || m.passed[n].Load() {
		return false, nil
	}
	err = m.compare(v, i)
	m.passed[n].Store(err == nil)
	return false, err
}

// compare verifies the CRC-32 of tensor i's storage.
func (m *model) compare(v driver.Verification, i int) error {
	s := &m.stores[m.places[i].store]
	return m.located(i, s.Verify(v, s.src, s.space, m.index.Name(i)))
}

// verify verifies the CRC-32 of each storage of the archives. The legacy container has none.
func (m *model) verify(v driver.Verification) error {
	covered := func(i int) bool { return v.Wanted(i) && m.stores[m.places[i].store].zipped }
	first := make(map[int]int) // the first tensor of each storage
	for i, p := range m.places {
		if _, seen := first[p.store]; !seen && covered(i) {
			first[p.store] = i
			v.Expect(m.stores[p.store].Size)
		}
	}
	if slices.ContainsFunc(m.stores, func(s blob) bool { return s.zipped }) {
		v.Section("directory", "")
	}
	err := v.Each(len(m.stores), func(n int) error {
		if i, ok := first[n]; ok {
			return m.compare(v, i)
		}
		return nil
	})
	for i := range m.places {
		if err == nil && covered(i) {
			v.Cover(i, driver.CRC32.String())
		}
	}
	return err
}
