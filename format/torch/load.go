package torch

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// Load implements driver.Parsed: elements are taken by their strides, from an unpacked
// storage, and turned around.
func (f *parsed) Load(i int) ([]byte, error) {
	b, err := f.load(i)
	return b, f.located(i, err)
}

func (f *parsed) load(i int) ([]byte, error) {
	p, shape, size := &f.places[i], f.index.Shape(i), f.index.Size(i)
	e := &f.stores[p.store]
	extent := p.extent(shape)
	if most := max(expandFloor, expandRatio*e.Size); size > most {
		return nil, fmt.Errorf("%w: it repeats %d bytes up to %d, at most %d are made", format.ErrLimit, extent, size, most)
	}
	// The engine has counted the tensor, not what it is taken from.
	aside := extent
	if e.Packed {
		aside = e.Size
	} else if f.src.InMemory() {
		aside = 0
	}
	err := f.memory.Reserve(aside)
	if err != nil {
		return nil, err
	}
	defer f.memory.Release(aside)
	var b []byte
	if e.Packed {
		if b, err = e.Content(f.src); err == nil {
			b = b[p.from : p.from+extent]
		}
	} else {
		b, err = f.src.Slice(e.At+p.from, extent)
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
	if f.big {
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

// checked remembers which storages have been compared with their sums.
type checked struct{ done []atomic.Bool }

func (c *checked) init(n int) { c.done = make([]atomic.Bool, n) }

// located names tensor i in an error that names no place.
func (f *parsed) located(i int, err error) error {
	var e *format.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return wire.Error("", fmt.Sprintf("tensor %q", f.index.Name(i)), f.stores[f.places[i].store].At, err)
}

// Touch implements driver.Parsed: the CRC-32 of the storage that tensor i is in.
func (f *parsed) Touch(v driver.Verification, i int) (all bool, err error) {
	n := f.places[i].store
	if !f.zipped || f.check.done[n].Load() {
		return false, nil
	}
	err = f.located(i, f.compare(v, n, f.index.Name(i)))
	f.check.done[n].Store(err == nil)
	return false, err
}

// has reports whether tensor i is in this file.
func (f *parsed) has(i int) bool { return f.mine == nil || f.mine(i) }

// compare compares the CRC-32 of a storage with what the archive records.
func (f *parsed) compare(v driver.Verification, n int, name string) error {
	e := &f.stores[n]
	if !e.Packed {
		crc, err := v.Hash(driver.CRC32, f.space, e.At, e.Stored, name)
		if err != nil {
			return err
		}
		return e.Compare(uint32(crc))
	}
	s := zip.Borrow()
	defer s.Release()
	err := s.Walk(f.src, e, func(b []byte) error {
		v.Done(int64(len(b)), name)
		return v.Context().Err()
	})
	if err != nil {
		return err
	}
	return e.Compare(s.Sum)
}

// Verify implements driver.Parsed: the structure is as it was, and each storage has the
// CRC-32 that the archive records. The legacy container has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	for _, s := range f.sums {
		crc, err := v.Rehash(driver.CRC32, f.space, s.at, s.size)
		if err != nil {
			return err
		}
		if uint32(crc) != s.crc {
			return wire.Errorf("", "structure", s.at, format.ErrCorrupt, "changed since the file was opened")
		}
	}
	if !f.zipped {
		return nil
	}
	v.Section("directory", "")
	first := make(map[int]int) // a tensor of each storage
	for i := range f.places {
		if _, seen := first[f.places[i].store]; !seen && f.has(i) && v.Wanted(i) {
			first[f.places[i].store] = i
		}
	}
	stores := make([]int, 0, len(first))
	for n := range first {
		stores = append(stores, n)
	}
	slices.Sort(stores)
	for _, n := range stores {
		v.Expect(f.stores[n].Size)
	}
	err := v.Each(len(stores), func(k int) error {
		i := first[stores[k]]
		return f.located(i, f.compare(v, stores[k], f.index.Name(i)))
	})
	for i := range f.places {
		if err == nil && f.has(i) && v.Wanted(i) {
			v.Vouch(i, driver.CRC32.String())
		}
	}
	return err
}
