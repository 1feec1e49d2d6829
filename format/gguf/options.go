package gguf

import (
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// WriteOptions changes how files are written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
	// Alignment of tensor data, a power of two of at least 8. 0 means what the
	// plan's metadata has under "general.alignment", else 32.
	Alignment uint32
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	return o
}

// configure is Configure of the driver.
func (o *WriteOptions) configure(own any, s *driver.Storage) (driver.Driver, error) {
	with, err := driver.OwnOptions(formatName, own, *o)
	if err == nil {
		err = s.Check(formatName, driver.CanAlign)
	}
	if err != nil {
		return nil, err
	}
	if s.Align > math.MaxUint32 {
		return nil, driver.OptionError(formatName, "Align", "%d", s.Align)
	}
	if s.Align != 0 {
		with.Alignment = uint32(s.Align)
	}
	return fileFormat{with}, nil
}
