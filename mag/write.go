package mag

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// Create starts writing a file to path, in a temporary file that takes its place
// on Close. Nil options work.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a file to w. Nil options work. Version 1 files with
// digests or shared data are assembled elsewhere first, as Spool says; others
// are streamed, and so are snapshots whose plan lists the tensors in the order of
// the file: by the size of their elements, largest first.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// encode starts a file of the container that the options choose.
func encode(t driver.Target, p *driver.Plan, common *driver.WriteOptions, o *WriteOptions) (driver.Encoder, error) {
	if o.Snapshot {
		return newSnapshotEncoder(t, p, common, o)
	}
	return newEncoder(t, p, common, o)
}

// refuse is the error for a plan that cannot be written.
func refuse(field string, sentinel error, text string, args ...any) error {
	return &format.Error{Format: formatName, Field: field, Offset: -1,
		Err: fmt.Errorf("%w: %w: %s", format.ErrPlan, sentinel, fmt.Sprintf(text, args...))}
}
