package convert

import (
	"context"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// File converts the file, or directory, at in to one at out, which may be the same. Data
// is compared with the sums that the source has before it is used (CheckTouch, unless
// Options.Read asks for another Check): a fresh checksum would hide the damage.
func File(ctx context.Context, in, out string, o *Options) (*Report, error) {
	j, err := newJob(ctx, out, o)
	if err != nil {
		return nil, err
	}
	m, err := format.Open(in, j.reading())
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return j.checked(m)
}

// Model writes an open model to a file at path, or to a directory if the format makes one. The path
// may be the model's own: the model stays valid until it is closed. A path that is one of several
// files of a model, m or another, is ErrSchema, since that model would be broken. So is a model
// that is a part of another (Model.Part), unless AcceptLoss has "part".
//
// If Model fails, it writes nothing, except after ErrNotDurable and when Verify fails or is
// canceled: then the target stays. Errors wrap schema.LossError, the errors of reading and writing,
// ErrQuantization for numbers that cannot be quantized, ErrUnsupported for numbers that a narrower
// dtype would make infinite, ErrSignature for a signature that the key in the source did not make,
// ErrChecksum from Verify, or the context's error.
func Model(ctx context.Context, m *format.Model, path string, o *Options) (*Report, error) {
	j, err := newJob(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return j.checked(m)
}

// Write writes an open model to w, in the format of Options.Write, as format.NewWriter does. It
// does not support Verify, which reads a file. Errors are those of Model.
func Write(ctx context.Context, m *format.Model, w io.Writer, o *Options) (*Report, error) {
	j, err := newJob(ctx, "", o)
	if err != nil {
		return nil, err
	}
	if j.o.Verify {
		err := fmt.Errorf("%w: Write makes no file to read again", format.ErrOption)
		return nil, &tensor.Error{Format: j.format, Field: "Verify", Offset: -1, Err: err}
	}
	j.out = w
	if j.o.DryRun {
		j.out = io.Discard
	}
	return j.checked(m)
}

// checked converts a model if it may be converted.
func (j *job) checked(m *format.Model) (*Report, error) {
	unpin, err := m.Pin() // a closed model has no tensors
	if err != nil {
		return nil, err
	}
	defer unpin()
	if m.NeedsKey() {
		return nil, located(m, "", fmt.Errorf("%w: the model is encrypted", format.ErrKey))
	}
	// A file without the signature would hide that it is bad.
	if err := m.CheckClaim(); err != nil {
		return nil, err
	}
	if j.out == nil {
		if err := j.checkTarget(m); err != nil {
			return nil, err
		}
	}
	j.read = reader{j.ctx, readonce.New(m)}
	if err := j.run(m); err != nil {
		return nil, err
	}
	return j.report, nil
}

// run converts a model.
func (j *job) run(m *format.Model) error {
	if err := j.makePlan(m); err != nil {
		return err
	}
	w := newWriting(j)
	defer w.abort()
	err := w.create()
	if err != nil || j.o.DryRun {
		return err
	}
	err = w.run()
	if err != nil || !j.o.Verify {
		return err
	}
	return j.verify()
}

// job is a running conversion.
type job struct {
	ctx    context.Context
	o      Options
	target format.WriteOptions // with a Format
	driver driver.Driver
	format string // the name of the target's
	path   string
	out    io.Writer // where to write, nil for the path
	read   reader    // of the source
	plan   plan
	report *Report
}

// plan says what to write.
type plan struct {
	schema *schema.Schema
	items  []*item
	uses   uses  // how nodes use tensors
	gaps   []gap // nodes without an operator in the target
}

// item is a tensor of the source and its description in the target.
type item struct {
	from    tensor.View
	to      tensor.Info
	changes bool
	z       *tensor.Quantizer // set if the tensor is quantized
	stream  *stream           // set if the tensor changes, once its conversion has started
	sum     uint64            // of the written data, for Verify
}
