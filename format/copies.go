package format

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// copy returns a copy of tensor i: the cached one, or the result of decode, which runs under
// the guard. With keep it caches the result.
func (m *Model) copy(i int, keep bool, decode func() ([]byte, error)) ([]byte, error) {
	return m.cache.get(span{off: int64(i)}, func(e *copied) error {
		size := m.index.Size(i)
		if m.parsed.Shares != nil && m.parsed.Shares(i) {
			size = 0
		}
		if err := m.c.parse.Memory.Reserve(size); err != nil {
			return m.about(m.index.Name(i), -1, err)
		}
		e.counted = size
		e.keep = keep
		err := m.guard(func() (err error) {
			e.data, err = decode()
			return err
		})
		return m.explain(err)
	})
}

// decoded returns tensor i, which the driver loads. With keep it is cached.
func (m *Model) decoded(i int, keep bool) ([]byte, error) {
	return m.copy(i, keep, func() ([]byte, error) {
		b, err := m.parsed.Load(i)
		if err != nil {
			return b, err
		}
		size := m.index.Size(i)
		if int64(len(b)) != size {
			err := fmt.Errorf("%w: %d bytes were loaded, it has %d", tensor.ErrCorrupt, len(b), size)
			return b, m.about(m.index.Name(i), -1, err)
		}
		return b, nil
	})
}

// find returns the region of f, a tensor's file, which it maps if necessary, and checks that it
// contains the tensor. i is the index of the tensor, or negative if it is not in the index.
func (m *Model) find(f *file, i int, name string, off, size int64) (*source.Region, error) {
	r, err := f.open()
	if err != nil {
		return nil, m.misplaced(i, name, err)
	}
	if off < 0 || size > r.Size()-off {
		err = f.external(fmt.Errorf("%w: %d bytes at %d of a file of %d", tensor.ErrTruncated, size, off, r.Size()))
		return nil, m.misplaced(i, name, err)
	}
	return r, nil
}

// findInside is find for callers that Close does not wait for.
func (m *Model) findInside(f *file, i int, name string, off, size int64) (*source.Region, error) {
	err := m.main.Enter()
	if err != nil {
		return nil, err
	}
	defer m.main.Leave()
	return m.find(f, i, name, off, size)
}

// misplaced returns the error for a tensor whose data cannot be found: at its record, if it has
// one.
func (m *Model) misplaced(i int, name string, err error) error {
	record := int64(-1)
	if m.parsed.RecordAt != nil && i >= 0 {
		record = m.parsed.RecordAt(i)
	}
	return m.about(name, record, err)
}
