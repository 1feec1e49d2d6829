package save

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
)

// layoutEncoder writes a file whose layout is known from the start.
type layoutEncoder struct {
	t      driver.Target
	layout *driver.Layout
	parts  []driver.Part // not yet written
	order  []int         // tensors by offset
	sums   []uint64      // by tensor; nil when nobody wants them
}

// newLayoutEncoder checks the layout, for the driver may be wrong.
func newLayoutEncoder(t driver.Target, p *driver.Plan, l *driver.Layout) (*layoutEncoder, error) {
	e := &layoutEncoder{t: t, layout: l, parts: l.Parts, order: make([]int, len(p.Tensors))}
	if l.Late != nil {
		e.sums = make([]uint64, len(p.Tensors))
	}
	if len(l.Offsets) != len(p.Tensors) {
		return nil, fmt.Errorf("%w: the layout has offsets for %d tensors of %d", driver.ErrPlan, len(l.Offsets), len(p.Tensors))
	}
	type extent struct{ from, to int64 }
	extents := make([]extent, 0, len(p.Tensors)+len(l.Parts))
	for i, off := range l.Offsets {
		e.order[i] = i
		extents = append(extents, extent{off, off + p.Tensors[i].Size})
	}
	for i, part := range l.Parts {
		if i > 0 && part.Offset < l.Parts[i-1].Offset {
			return nil, fmt.Errorf("%w: the parts of the layout are not in order", driver.ErrPlan)
		}
		extents = append(extents, extent{part.Offset, part.Offset + int64(len(part.Bytes))})
	}
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	end := int64(0)
	for _, x := range extents {
		if x.from < end || x.to < x.from {
			return nil, fmt.Errorf("%w: in the layout, %d to %d overlaps what comes before", driver.ErrPlan, x.from, x.to)
		}
		end = x.to
	}
	if end > l.Size {
		return nil, fmt.Errorf("%w: the layout has %d bytes, the file %d", driver.ErrPlan, end, l.Size)
	}
	slices.SortStableFunc(e.order, func(a, b int) int { return cmp.Compare(l.Offsets[a], l.Offsets[b]) })
	if t.Sequential() && l.Late != nil && !l.Streams {
		return nil, fmt.Errorf("%w: parts of the file depend on its data", driver.ErrSequential)
	}
	return e, nil
}

// before writes the parts that lie before an offset.
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
	s := checksum.New(e.layout.Sums)
	err := in.CopyTo(e.t, e.layout.Offsets[i], s)
	e.sums[i] = s.Sum64()
	return err
}

// Finish implements driver.Encoder.
func (e *layoutEncoder) Finish() error {
	if err := e.before(e.layout.Size + 1); err != nil {
		return err
	}
	if e.layout.Late != nil {
		parts, err := e.layout.Late(e.sums)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if part.Offset < 0 || int64(len(part.Bytes)) > e.layout.Size-part.Offset {
				return fmt.Errorf("%w: a late part at %d leaves the %d bytes of the file", driver.ErrPlan, part.Offset, e.layout.Size)
			}
			if _, err := e.t.WriteAt(part.Bytes, part.Offset); err != nil {
				return err
			}
		}
	}
	return e.t.Truncate(e.layout.Size)
}
