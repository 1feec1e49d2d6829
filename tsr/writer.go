package tsr

import (
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
)

// WriteOptions changes how files are written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
	// DropMetadata leaves out the plan's metadata and graph, which a TSR file
	// cannot hold. Without it a plan that has them is refused.
	DropMetadata bool
}

// Create starts writing the tensors of p, float32, int8 or int32 of up to four
// dims: to the file at path, or into the directory at path (see [CreateDir])
// when that ends in a separator, is a directory already, or there are several
// tensors. A file does not store its tensor's name: it is read back under that
// of the file.
// A plan that cannot be written is ErrPlan, and ErrUnsupported too for what TSR
// has no place for.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.withDefaults()
	c := newCodec(o)
	return c.CreateFile(path, p, &o.WriteOptions)
}

// NewWriter starts writing the one tensor of p to w.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.withDefaults()
	if o.Spool == format.SpoolFile {
		// Nothing is ever patched: no file needs to be assembled elsewhere.
		o.Spool = format.SpoolNever
	}
	c := newCodec(o)
	return c.NewWriter(w, p, &o.WriteOptions)
}

func (o *WriteOptions) withDefaults() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	c := *o
	return &c
}

// create decides between a file and a directory.
func create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	st, err := os.Stat(path)
	isDir := err == nil && st.IsDir()
	if isDir || path != "" && os.IsPathSeparator(path[len(path)-1]) || p != nil && len(p.Tensors) > 1 {
		return CreateDir(path, p, o)
	}
	c := newCodec(o)
	c.Create = nil // the usual way: one file
	return c.CreateFile(path, p, &o.WriteOptions)
}

// checkPlan refuses what TSR files cannot express.
func checkPlan(p *format.Plan, o *WriteOptions) error {
	switch {
	case len(p.Tensors) == 0:
		return planError("tensors", "there are none")
	case len(p.Metadata) > 0 && !o.DropMetadata:
		return planError("metadata", fmt.Sprintf("%d entries: TSR has no metadata", len(p.Metadata)))
	case p.Graph != nil && !o.DropMetadata:
		return planError("graph", "TSR has no graph")
	}
	return nil
}

func planError(field, text string) error {
	return wire.Error(name, field, -1, fmt.Errorf("%w: %w: %s", format.ErrPlan, format.ErrUnsupported, text))
}

// encoder writes one file front to back.
type encoder struct{ t sink.Target }

func newEncoder(t sink.Target, p *format.Plan, o *WriteOptions) (format.Encoder, error) {
	if err := checkPlan(p, o); err != nil {
		return nil, err
	}
	if len(p.Tensors) > 1 {
		return nil, planError("tensors", fmt.Sprintf("%d: one file holds one tensor", len(p.Tensors)))
	}
	h, err := planned(p)
	if err != nil {
		return nil, err
	}
	if _, err := t.WriteAt(h[0], 0); err != nil {
		return nil, err
	}
	return encoder{t}, nil
}

// planned returns the headers of all tensors of p.
func planned(p *format.Plan) ([][]byte, error) {
	headers := make([][]byte, len(p.Tensors))
	for i := range p.Tensors {
		t := &p.Tensors[i]
		var err error
		if headers[i], err = encode(t); err != nil {
			return nil, wire.Error(name, fmt.Sprintf("tensor %q", t.Name), -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
		}
	}
	return headers, nil
}

func (e encoder) Tensor(_ int, in *sink.Input) error { return in.CopyTo(e.t, headerSize) }

// Finish has nothing to do: the header was complete from the start.
func (e encoder) Finish() error { return nil }
