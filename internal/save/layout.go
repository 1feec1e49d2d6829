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
	sum    *checksum.Digest
	sums   []uint64 // by tensor; nil when nobody wants them
}

// span is a range of a file.
type span struct{ off, size int64 }

// newLayoutEncoder checks the layout, for the driver may be wrong.
func newLayoutEncoder(t driver.Target, p *driver.Plan, l *driver.Layout) (*layoutEncoder, error) {
	e := &layoutEncoder{t: t, layout: l, parts: l.Parts, order: make([]int, len(p.Tensors))}
	if l.Late != nil {
		e.sum, e.sums = checksum.New(l.Sums), make([]uint64, len(p.Tensors))
	}
	if len(l.Offsets) != len(p.Tensors) {
		return nil, fmt.Errorf("%w: the layout has offsets for %d tensors of %d", driver.ErrPlan, len(l.Offsets), len(p.Tensors))
	}
	ranges := make([]span, 0, len(l.Parts)+len(p.Tensors))
	for i, part := range l.Parts {
		if i > 0 && part.Offset < l.Parts[i-1].Offset {
			return nil, fmt.Errorf("%w: the parts of the layout do not ascend", driver.ErrPlan)
		}
		ranges = append(ranges, span{part.Offset, int64(len(part.Bytes))})
	}
	for i := range e.order {
		e.order[i] = i
		ranges = append(ranges, span{l.Offsets[i], p.Tensors[i].Size})
	}
	slices.SortStableFunc(e.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(l.Offsets[a], l.Offsets[b]), cmp.Compare(p.Tensors[a].Size, p.Tensors[b].Size))
	})
	slices.SortFunc(ranges, func(a, b span) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.size, b.size)) })
	end := int64(0)
	for _, r := range ranges {
		if r.off < end || r.off+r.size < r.off {
			return nil, fmt.Errorf("%w: in the layout, %d bytes at %d overlap what comes before", driver.ErrPlan, r.size, r.off)
		}
		end = r.off + r.size
	}
	if end > l.Size {
		return nil, fmt.Errorf("%w: the layout has %d bytes, the file %d", driver.ErrPlan, end, l.Size)
	}
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
	e.sum.Reset()
	err := in.CopyTo(e.t, e.layout.Offsets[i], e.sum)
	e.sums[i] = e.sum.Sum64()
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
