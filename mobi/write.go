package mobi

import (
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Create starts writing a model to path, in a temporary file that takes its
// place on Close. Nil options work.
//
// Tensor names are ids in decimal. When AcceptLoss has "name", others get the
// lowest free ids in the plan's order, and the graph follows. Constants are ordered by the size of their
// data, see the package documentation; they may be written in any order.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a model to w. Nil options work. A plan that lists the
// constants in the order of the file is streamed, unless they are compressed;
// others are assembled elsewhere first, as Spool says. With SpoolNever those are
// refused, and the constants must come in the plan's order.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// encoder writes a file whose constants are stored as they come, so that every
// position is known from the plan.
type encoder struct {
	*document
	target driver.Target
	layout *layout
	at     []int64     // by plan index: offset of the record
	sums   []uint32    // by plan index: sum of record header and data
	head   wire.Buffer // of the record at work
	sum    summer      // of that record
}

// newEncoder checks the plan and picks the way to write it.
func newEncoder(t driver.Target, p *driver.Plan, common *driver.WriteOptions, o *WriteOptions) (driver.Encoder, error) {
	d, err := newDocument(p, common, o)
	if err != nil {
		return nil, err
	}
	if o.Gzip != 0 {
		p, err := newPacker(t, d, o)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	l, err := d.layout(d.plain())
	if err != nil {
		return nil, err
	}
	if t.Sequential() && !slices.IsSorted(l.order) {
		return nil, planError("order", fmt.Errorf("%w: without a spool the plan must list constants in file order: by size, multiples of 8 first, then of 4, of 2, the rest", format.ErrUnsupported))
	}
	e := &encoder{document: d, target: t, layout: l, at: make([]int64, len(d.tensors)), sums: make([]uint32, len(d.tensors))}
	for i, n := range l.order {
		e.at[n] = l.at[i]
	}
	return e, l.begin(t)
}

// Tensor stores constant i where the plan puts it.
func (e *encoder) Tensor(i int, in driver.Input) error {
	e.head.Reset()
	e.recordHead(&e.head, i, in.Size(), false)
	head := e.head.Bytes()
	e.sum = summer{kind: e.footer, sum: e.footer.update(e.footer.empty(), head)}
	if _, err := e.target.WriteAt(head, e.at[i]); err != nil {
		return err
	}
	err := in.CopyTo(e.target, e.at[i]+int64(len(head)), &e.sum)
	e.sums[i] = e.sum.sum
	return err
}

// Finish writes operators and footer.
func (e *encoder) Finish() error { return e.layout.finish(e.target, e.sums) }

// summer is an io.Writer that sums.
type summer struct {
	kind Footer
	sum  uint32
}

func (s *summer) Write(p []byte) (int, error) {
	s.sum = s.kind.update(s.sum, p)
	return len(p), nil
}
