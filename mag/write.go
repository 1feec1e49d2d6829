package mag

import (
	"cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// Create starts writing a file to path. It writes a temporary file, which replaces
// an old file on Close. Nil options work. [format.NewWriter] takes the options as Format: it
// streams a snapshot, whose tensors are sorted by the size of their elements, largest first,
// and buffers a version 1 file with digests first (see Spool).
func Create(path string, p *schema.Schema, o *WriteOptions) (*format.Writer, error) {
	o = cmp.Or(o, new(WriteOptions))
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// Layout implements driver.Writer.
func (d fileFormat) Layout(p *schema.Schema, o *driver.WriteOptions) (*driver.Layout, error) {
	if d.opts.Snapshot {
		return layoutSnapshot(p, o)
	}
	return layoutV1(p, &d.opts)
}
