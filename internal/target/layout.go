package target

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/tensor"
)

var _ driver.Encoder = (*Encoder)(nil)

// Encoder writes a file whose layout is known in advance.
type Encoder struct {
	t      driver.Target
	layout *driver.Layout
	parts  []driver.Part // not yet written
	order  []int         // tensors by offset; nil if the layout was not checked
	sum    checksum.Digest
	sums   []uint64 // by tensor; nil if the layout needs none
}

// Located returns the Encoder of a layout that is known to be valid.
func Located(t driver.Target, l *driver.Layout) *Encoder {
	e := &Encoder{t: t, layout: l, parts: l.Parts}
	if l.Late != nil {
		e.sums = make([]uint64, len(l.Offsets))
	}
	return e
}

// NewEncoder returns the Encoder of a layout. It checks the places of the tensors, since drivers
// may be wrong.
func NewEncoder(t driver.Target, p *schema.Schema, l *driver.Layout) (*Encoder, error) {
	e := Located(t, l)
	e.order = make([]int, len(p.Tensors))
	for i := range e.order {
		e.order[i] = i
	}
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
		off := l.Offsets[i]
		size := p.Tensors[i].Size
		if off < end || size > l.Size-off {
			return nil, fmt.Errorf("%w: the layout has %d bytes at %d, behind %d, of a file of %d", tensor.ErrSchema, size, off, end, l.Size)
		}
		end = off + size
	}
	return e, nil
}

// Order returns the tensors in the order of the file. It is nil if the layout was not checked.
func (e *Encoder) Order() []int { return e.order }

// before writes the parts that start before an offset.
func (e *Encoder) before(off int64) error {
	for len(e.parts) > 0 && e.parts[0].Offset < off {
		if _, err := e.t.WriteAt(e.parts[0].Bytes, e.parts[0].Offset); err != nil {
			return err
		}
		e.parts = e.parts[1:]
	}
	return nil
}

// Tensor implements driver.Encoder.
func (e *Encoder) Tensor(i int, in driver.Input) error {
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
func (e *Encoder) Finish() error {
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
