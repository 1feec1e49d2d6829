package mobi

import (
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
)

// WriteOptions changes how a MOBI file is written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
	// Gzip compresses every constant at that level, 1 (fast) to 9 (small), and
	// keeps those compressed that become smaller by it. 0 compresses nothing.
	Gzip int
	// Footer says which sum the file ends with.
	Footer Footer
	// Flags are set in the header beside those that the constants call for
	// (FlagQuantized, FlagFloat16). Flags in the plan's metadata stand as they are.
	Flags Flags
	// FrameworkVersion is recorded when the plan's metadata name none.
	FrameworkVersion uint32
	// Inputs, Outputs and Operators replace the plan's neutral graph. A plan
	// with a graph of its own is then refused.
	Inputs, Outputs []Spec
	Operators       []Operator
}

// Create starts writing a model to path, in a temporary file that takes its
// place on Close. Nil options work.
//
// Tensor names are ids in decimal. When AcceptLoss has "name", others get the
// lowest free ids in the plan's order, and the graph follows. Constants are laid out by the size of their
// data, see the package documentation; they may be written in any order.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	c, common := o.codec()
	return c.CreateFile(path, p, common)
}

// NewWriter starts writing a model to w; where the file is assembled until
// Close is what Spool says. With SpoolNever the plan must list constants in file
// order, they must come in that order, and they cannot be compressed.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	c, common := o.codec()
	return c.NewWriter(w, p, common)
}

// codec returns a codec that writes with these options.
func (o *WriteOptions) codec() (*format.Codec, *format.WriteOptions) {
	var mine WriteOptions
	if o != nil {
		mine = *o
	}
	c := newCodec(&mine)
	return &c, &mine.WriteOptions
}

// encoder writes a file whose constants are stored as they come, so that every
// position is known from the plan.
type encoder struct {
	*document
	target sink.Target
	at     []int64  // by plan index: offset of the record
	sums   []uint32 // by plan index: sum of record header and data
}

// newEncoder checks the plan and picks the way to write it.
func newEncoder(t sink.Target, p *format.Plan, common *format.WriteOptions, o *WriteOptions) (format.Encoder, error) {
	d, err := newDocument(p, common, o)
	if err != nil {
		return nil, err
	}
	if o.Gzip != 0 {
		p, err := newPacker(t, d, common.Spool, o.Gzip)
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
	e := &encoder{document: d, target: t, at: make([]int64, len(d.tensors)), sums: make([]uint32, len(d.tensors))}
	for i, n := range l.order {
		e.at[n] = l.at[i]
	}
	return e, l.begin(t)
}

// Tensor stores constant i where the plan puts it.
func (e *encoder) Tensor(i int, in *sink.Input) error {
	head := e.recordHead(i, in.Size(), false)
	sum := &summer{kind: e.footer, sum: e.footer.update(e.footer.empty(), head)}
	if _, err := e.target.WriteAt(head, e.at[i]); err != nil {
		return err
	}
	err := in.CopyTo(e.target, e.at[i]+int64(len(head)), sum)
	e.sums[i] = sum.sum
	return err
}

// Finish writes operators and footer.
func (e *encoder) Finish() error {
	l, err := e.layout(e.plain())
	if err != nil {
		return err
	}
	return l.finish(e.target, e.sums)
}

// summer is an io.Writer that sums.
type summer struct {
	kind Footer
	sum  uint32
}

func (s *summer) Write(p []byte) (int, error) {
	s.sum = s.kind.update(s.sum, p)
	return len(p), nil
}
