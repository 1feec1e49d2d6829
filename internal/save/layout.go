package save

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/tensor"
)

// layoutEncoder writes a file whose layout is known in advance.
type layoutEncoder struct {
	t      driver.Target
	layout *driver.Layout
	parts  []driver.Part // not yet written
	order  []int         // tensors by offset
	sum    checksum.Digest
	sums   []uint64 // by tensor; nil if the layout needs none
}

// Located returns the Encoder of a layout that is known to be valid.
func Located(t driver.Target, l *driver.Layout) driver.Encoder { return located(t, l) }

func located(t driver.Target, l *driver.Layout) *layoutEncoder {
	e := &layoutEncoder{t: t, layout: l, parts: l.Parts}
	if l.Late != nil {
		e.sums = make([]uint64, len(l.Offsets))
	}
	return e
}

// newLayoutEncoder checks the places of the tensors, since drivers may be wrong.
func newLayoutEncoder(t driver.Target, p *schema.Schema, l *driver.Layout) (*layoutEncoder, error) {
	e := located(t, l)
	e.order = numbers(len(p.Tensors))
	switch {
	case len(l.Offsets) != len(p.Tensors):
		return nil, fmt.Errorf("%w: the layout has offsets for %d tensors of %d", tensor.ErrSchema, len(l.Offsets), len(p.Tensors))
	case t.Sequential() && l.Late != nil && !l.Streams:
		return nil, fmt.Errorf("%w: parts of the file depend on its data", driver.ErrSequential)
	}
	byPlace := func(a, b int) int {
		return cmp.Or(cmp.Compare(l.Offsets[a], l.Offsets[b]), cmp.Compare(p.Tensors[a].Size, p.Tensors[b].Size))
	}
	slices.SortStableFunc(e.order, byPlace)
	end := int64(0)
	for _, i := range e.order {
		off, size := l.Offsets[i], p.Tensors[i].Size
		if off < end || size > l.Size-off {
			return nil, fmt.Errorf("%w: the layout has %d bytes at %d, behind %d, of a file of %d", tensor.ErrSchema, size, off, end, l.Size)
		}
		end = off + size
	}
	return e, nil
}

// numbers returns the numbers below n.
func numbers(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// before writes the parts that start before an offset.
func (e *layoutEncoder) before(off int64) error {
	for len(e.parts) > 0 && e.parts[0].Offset < off {
		if _, err := e.t.WriteAt(e.parts[0].Bytes, e.parts[0].Offset); err != nil {
			return err
		}
		e.parts = e.parts[1:]
	}
	return nil
}

// Tensor implements driver.Encoder.
func (e *layoutEncoder) Tensor(i int, in driver.Input) error {
	if err := e.before(e.layout.Offsets[i]); err != nil {
		return err
	}
	if e.sums == nil {
		return in.CopyTo(e.t, e.layout.Offsets[i], nil)
	}
	e.sum = checksum.New(e.layout.Sums)
	err := in.CopyTo(e.t, e.layout.Offsets[i], &e.sum)
	e.sums[i] = e.sum.Sum64()
	return err
}

// Finish implements driver.Encoder.
func (e *layoutEncoder) Finish() error {
	err := e.before(e.layout.Size + 1)
	if err == nil && e.layout.Late != nil {
		e.parts, err = e.layout.Late(e.sums)
	}
	if err == nil {
		err = e.before(e.layout.Size + 1)
	}
	if err != nil {
		return err
	}
	return e.t.Truncate(e.layout.Size)
}
