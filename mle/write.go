package mle

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Create starts writing a file to path, in a temporary file that takes its place
// on Close. Nil options work.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing a file to w. Nil options work. A version 2 file is
// assembled elsewhere first, as Spool says, since its header holds checksums of
// what follows. Version 1 streams.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// refuse is the error for a plan or options that cannot be written.
func refuse(field string, sentinel error, text string, args ...any) error {
	return &format.Error{Format: formatName, Field: field, Offset: -1,
		Err: fmt.Errorf("%w: %w: %s", format.ErrPlan, sentinel, fmt.Sprintf(text, args...))}
}

func refuseTensor(t *tensor.Info, sentinel error, text string, args ...any) error {
	return refuse(fmt.Sprintf("tensor %q", t.Name), sentinel, text, args...)
}

// encode checks options and plan and starts a file. own are the format's options.
func encode(t driver.Target, p *driver.Plan, o *driver.WriteOptions, own WriteOptions) (driver.Encoder, error) {
	if err := own.check(); err != nil {
		return nil, err
	}
	if own.Version == 2 && t.Sequential() {
		return nil, refuse("checksums", format.ErrUnsupported, "the header of version 2 holds checksums of what follows: %v", driver.ErrSequential)
	}
	if err := own.checkTensors(p); err != nil {
		return nil, err
	}
	e := &encoder{t: t, base: o, o: &own, plan: p}
	if err := e.place(); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e, nil
}

// checkTensors refuses a method that is not for these tensors.
func (o *WriteOptions) checkTensors(p *driver.Plan) error {
	for i := range p.Tensors {
		if t := &p.Tensors[i]; o.Compression.lossy() && t.DType != tensor.Float32 {
			return refuseTensor(t, format.ErrUnsupported, "%v compresses float32, not %v", o.Compression, t.DType)
		}
	}
	return nil
}
