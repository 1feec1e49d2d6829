package torch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// load takes elements by their strides, from an unpacked storage, and makes them little-endian.
func (m *model) load(i int) ([]byte, error) {
	b, err := m.gathered(i)
	return b, m.located(i, err)
}

func (m *model) gathered(i int) ([]byte, error) {
	p, shape, size := &m.places[i], m.index.Shape(i), m.index.Size(i)
	s := &m.stores[p.store]
	extent := p.extent(shape)
	if most := max(expandFloor, expandRatio*s.Size); size > most {
		return nil, fmt.Errorf("%w: it repeats %d bytes up to %d, at most %d are made", format.ErrLimit, extent, size, most)
	}
	// The engine has counted the tensor, not what it is taken from.
	aside := extent
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
			b = b[p.from : p.from+extent]
		}
	} else {
		b, err = s.src.Slice(s.At+p.from, extent)
	}
	if err != nil {
		return nil, err
	}
	if err := codec.CheckSize(size); err != nil {
		return nil, err
	}
	out := memory.Aligned(int(size))
	if p.stride == nil {
		copy(out, b)
	} else {
		gather(out, b, shape, p.stride, int(p.elem.size))
	}
	if s.big {
		turn(out, p.elem.word)
	}
	return out, nil
}

// An expanded tensor repeats the elements of a storage; these limit the bytes of the copy.
const (
	expandFloor = 1 << 30
	expandRatio = 16
)

// extent returns how many bytes the elements lie in.
func (p *place) extent(shape tensor.Shape) int64 {
	n := int64(1)
	for i, d := range shape {
		if d == 0 {
			return 0
		}
		if p.stride != nil {
			n += (d - 1) * p.stride[i]
		} else {
			n *= d
		}
	}
	return n * p.elem.size
}

// gather copies elements at strides, one row after the other.
func gather(out, b []byte, shape tensor.Shape, stride []int64, size int) {
	if len(out) == 0 {
		return
	}
	last := len(shape) - 1
	row, step := int(shape[last]), int(stride[last])*size
	at := make([]int64, last)
	for from := 0; ; {
		for j := range row {
			copy(out[j*size:][:size], b[from+j*step:])
		}
		out = out[row*size:]
		k := last - 1
		for ; k >= 0; k-- {
			from += int(stride[k]) * size
			if at[k]++; at[k] < shape[k] {
				break
			}
			from -= int(shape[k]*stride[k]) * size
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// turn reverses the bytes of each word.
func turn(b []byte, word int) {
	for ; len(b) >= word && word > 1; b = b[word:] {
		slices.Reverse(b[:word])
	}
}

// located names tensor i and its file in an error that names no place.
func (m *model) located(i int, err error) error {
	var e *format.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	s := &m.stores[m.places[i].store]
	return wire.InFile(wire.Error("", fmt.Sprintf("tensor %q", m.index.Name(i)), s.At, err), s.src.Path())
}

// touch checks the CRC-32 of the storage that tensor i is in.
func (m *model) touch(v driver.Verification, i int) (all bool, err error) {
	n := m.places[i].store
	if !m.stores[n].zipped || m.passed[n].Load() {
		return false, nil
	}
	err = m.compare(v, i)
	m.passed[n].Store(err == nil)
	return false, err
}

// compare compares the CRC-32 of the storage of tensor i with what the archive records.
func (m *model) compare(v driver.Verification, i int) error {
	s, name := &m.stores[m.places[i].store], m.index.Name(i)
	if !s.Packed {
		crc, err := v.Hash(driver.CRC32, s.space, s.At, s.Stored, name)
		if err == nil {
			err = s.Compare(uint32(crc))
		}
		return m.located(i, err)
	}
	z := zip.Borrow()
	defer z.Release()
	err := z.Walk(s.src, &s.Entry, func(b []byte) error {
		v.Done(int64(len(b)), name)
		return v.Context().Err()
	})
	if err == nil {
		err = s.Compare(z.Sum)
	}
	return m.located(i, err)
}

// verify checks that each storage has the CRC-32 that its archive records. The legacy container has none.
func (m *model) verify(v driver.Verification) error {
	if slices.ContainsFunc(m.stores, func(s blob) bool { return s.zipped }) {
		v.Section("directory", "")
	}
	seen := make([]bool, len(m.stores))
	var first, all []int // tensors: one of each storage, and all
	for i := range m.places {
		n := m.places[i].store
		if !v.Wanted(i) || !m.stores[n].zipped {
			continue
		}
		if all = append(all, i); !seen[n] {
			seen[n] = true
			first = append(first, i)
			v.Expect(m.stores[n].Size)
		}
	}
	slices.SortFunc(first, func(a, b int) int { return m.places[a].store - m.places[b].store })
	err := v.Each(len(first), func(k int) error { return m.compare(v, first[k]) })
	for _, i := range all {
		if err == nil {
			v.Vouch(i, driver.CRC32.String())
		}
	}
	return err
}
