package format

import (
	"errors"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
)

// Losses returns what Create would refuse: all that the format cannot hold of a schema, but for
// what WriteOptions.AcceptLoss names. The error is for options that are wrong.
func Losses(path string, s *schema.Schema, o *WriteOptions) ([]schema.Loss, error) {
	d, err := formatFor(path, o)
	if err != nil {
		return nil, err
	}
	c, err := checkWriteOptions(o, d)
	if err != nil {
		return nil, wire.Place(err, driverName(d), path, "")
	}
	if s == nil {
		s = &schema.Schema{}
	}
	_, err = fit(d, s, layoutOptions(c, path), c.AcceptLoss)
	var losses *schema.LossError
	if errors.As(err, &losses) {
		return losses.Losses, nil
	}
	return nil, wire.Place(err, driverName(d), path, "")
}

// fit returns the schema without the losses that the caller accepts, or a LossError with all
// others. It returns the schema itself for a Driver that is no Writer.
func fit(d driver.Driver, s *schema.Schema, o *driver.LayoutOptions, accept []string) (*schema.Schema, error) {
	w, ok := d.(driver.Writer)
	if !ok {
		return s, nil
	}
	return schema.Fit(driverName(d), s, accept, func(s *schema.Schema, l *schema.LossList) error {
		return w.Losses(s, o, l)
	})
}

// formatFor returns the driver of the format to write: that of the options or of the extension of
// path.
func formatFor(path string, o *WriteOptions) (driver.Driver, error) {
	var f Format
	if o != nil {
		f = o.Format
	}
	if f == nil && path == "" {
		return nil, unregistered("", "WriteOptions.Format is not set")
	}
	if f == nil {
		var err error
		f, err = ByExtension(path)
		if err != nil {
			return nil, err
		}
	}
	d := f.Driver()
	if d == nil {
		return nil, unregistered(path, "WriteOptions.Format has no driver")
	}
	return d, nil
}
