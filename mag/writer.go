package mag

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
)

// WriteOptions changes how a file is written. Nil and the zero value write
// version 1 as the reference implementation does, with a digest for every
// tensor and equal data once.
type WriteOptions struct {
	format.WriteOptions
	// Snapshot chooses the snapshot container instead of version 1. It holds
	// no metadata, so no digests, and writes equal data as often as they occur.
	Snapshot bool
	// Extended allows version 1 files with dtypes that the reference does
	// not know: any but float32, float16, bool and int32.
	Extended bool
	// Checksum is the form of version 1's header checksum.
	Checksum Checksum
	// NoDigests leaves out the metadata entries with the XXH64 of the data.
	NoDigests bool
	// NoSharing writes equal data of several tensors several times. With
	// NoDigests too, version 1 can be written from front to back.
	NoSharing bool
}

// Create starts writing a file to path, in a temporary file that takes its place
// on Close. Nil options work.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return o.codec().CreateFile(path, p, &o.WriteOptions)
}

// NewWriter starts writing a file to w. Nil options work. Version 1 files with
// digests or shared data are assembled elsewhere first, as Spool says; others
// can be streamed with SpoolNever, and so can snapshots whose plan lists the
// tensors as they lie in the file: by the size of their elements, largest first.
// Streams take the tensors in the order of the plan.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return o.codec().NewWriter(w, p, &o.WriteOptions)
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		o = &WriteOptions{}
	}
	return o
}

// codec returns the registered codec with these options for writing.
func (o *WriteOptions) codec() *format.Codec {
	c := codec
	c.Encode = func(t sink.Target, p *format.Plan, common *format.WriteOptions) (format.Encoder, error) {
		own := *o
		own.WriteOptions = *common
		return encode(t, p, &own)
	}
	c.Losses = func(p *format.Plan, _ *format.WriteOptions, l *format.LossList) { o.losses(p, l) }
	return &c
}

// encode starts a file of the container that the options choose. The plan is
// checked and completed by package format.
func encode(t sink.Target, p *format.Plan, o *WriteOptions) (format.Encoder, error) {
	if o.Snapshot {
		e, err := newSnapshotEncoder(t, p, o)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	e, err := newEncoder(t, p, o)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// refuse is the error for a plan that cannot be written.
func refuse(field string, sentinel error, text string, args ...any) error {
	return &format.Error{Format: formatName, Field: field, Offset: -1,
		Err: fmt.Errorf("%w: %w: %s", format.ErrPlan, sentinel, fmt.Sprintf(text, args...))}
}
