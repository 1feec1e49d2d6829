package save

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
)

// layoutEncoder writes a file whose layout is known in advance.
type layoutEncoder struct {
	t      driver.Target
	layout *driver.Layout
	parts  []driver.Part // not yet written
	order  []int         // tensors by offset
	sum    *checksum.Digest
	sums   []uint64 // by tensor; nil if the layout needs none
}

// newLayoutEncoder checks the layout, since drivers may be wrong.
func newLayoutEncoder(t driver.Target, p *driver.Plan, l *driver.Layout) (*layoutEncoder, error) {
	e := &layoutEncoder{t: t, layout: l, parts: l.Parts, order: make([]int, len(p.Tensors))}
	if l.Late != nil {
		e.sum, e.sums = checksum.New(l.Sums), make([]uint64, len(p.Tensors))
	}
	if len(l.Offsets) != len(p.Tensors) {
		return nil, fmt.Errorf("%w: the layout has offsets for %d tensors of %d", driver.ErrPlan, len(l.Offsets), len(p.Tensors))
	}
	for i := range e.order {
		e.order[i] = i
	}
	byPlace := func(a, b int) int {
		return cmp.Or(cmp.Compare(l.Offsets[a], l.Offsets[b]), cmp.Compare(p.Tensors[a].Size, p.Tensors[b].Size))
	}
	if !slices.IsSortedFunc(e.order, byPlace) {
		slices.SortStableFunc(e.order, byPlace)
	}
	x := extent{parts: l.Parts}
	for _, i := range e.order {
		x.upTo(l.Offsets[i], p.Tensors[i].Size)
		x.add(l.Offsets[i], p.Tensors[i].Size)
	}
	x.upTo(math.MaxInt64, math.MaxInt64)
	switch {
	case x.err != nil:
		return nil, x.err
	case x.end > l.Size:
		return nil, fmt.Errorf("%w: the layout has %d bytes, the file %d", driver.ErrPlan, x.end, l.Size)
	case t.Sequential() && l.Late != nil && !l.Streams:
		return nil, fmt.Errorf("%w: parts of the file depend on its data", driver.ErrSequential)
	}
	return e, nil
}

// extent checks that parts and tensors ascend without overlap.
type extent struct {
	parts []driver.Part // not yet placed
	end   int64
	err   error
}

// add places size bytes at off.
func (x *extent) add(off, size int64) {
	if x.err == nil && (off < x.end || off+size < off) {
		x.err = fmt.Errorf("%w: in the layout, %d bytes at %d overlap what comes before", driver.ErrPlan, size, off)
	}
	x.end = off + size
}

// upTo places the parts that start at or before off, then size bytes at off.
func (x *extent) upTo(off, size int64) {
	for len(x.parts) > 0 && x.err == nil {
		p, n := &x.parts[0], int64(len(x.parts[0].Bytes))
		if p.Offset > off || p.Offset == off && n > size {
			return
		}
		if x.add(p.Offset, n); len(x.parts) > 1 && x.parts[1].Offset < p.Offset {
			x.err = fmt.Errorf("%w: the parts of the layout do not ascend", driver.ErrPlan)
		}
		x.parts = x.parts[1:]
	}
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
