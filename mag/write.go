package mag

import (
	"cmp"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
)

// Create starts writing a file to path. It writes a temporary file, which replaces
// an old file on Close. Nil options work.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, new(WriteOptions))
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a file to w. Nil options work. A version 1 file with
// digests is buffered first (see Spool); other files are streamed. The tensors of a
// snapshot are sorted by the size of their elements, largest first.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, new(WriteOptions))
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// Layout implements driver.Layouter.
func (d fileFormat) Layout(p *plan.Plan, o *plan.WriteOptions) (*driver.Layout, error) {
	if d.opts.Snapshot {
		return layoutSnapshot(p, o)
	}
	return layoutV1(p, &d.opts)
}
