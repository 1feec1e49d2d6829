package gguf

import (
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// WriteOptions changes how files are written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
	// Alignment of tensor data, a power of two of at least 8. 0 means what the
	// plan's metadata has under "general.alignment", else 32.
	Alignment uint32
	// Quantize chooses the tensors that are written as Q8_0; nil means none. They
	// have float elements and rows of a multiple of 32. See Matrices.
	Quantize func(t tensor.Info) bool
}

// Matrices chooses for WriteOptions.Quantize what is usually quantized: float
// tensors of two or more dims whose rows fill blocks. Vectors stay as they are.
func Matrices(t tensor.Info) bool {
	return len(t.Shape) >= 2 && checkQuantize(&t) == nil
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	return o
}

// configure is Configure of both drivers.
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
	return with.driver(), nil
}

// driver returns the driver that writes with the options.
func (o *WriteOptions) driver() driver.Driver {
	if o.Quantize != nil {
		return quantizing{*o}
	}
	return fileFormat{*o}
}
