package tsr

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
)

// WriteOptions changes how files are written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions
}

// Create starts writing the tensors of p, float32, int8 or int32 of up to four
// dims: to the file at path, or into the directory at path (see [CreateDir])
// when that ends in a separator, is a directory already, or there are several
// tensors. A file does not store its tensor's name: it is read back under that
// of the file, which is the caller's choice.
// What TSR has no place for is refused with a [format.LossError], or left out
// if the options accept that: metadata, graph, quantisation, names in a
// directory that cannot be those of files.
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

// encoder writes one file front to back.
type encoder struct{ t sink.Target }

func newEncoder(t sink.Target, p *format.Plan) (format.Encoder, error) {
	if _, err := t.WriteAt(planned(p)[0], 0); err != nil {
		return nil, err
	}
	return encoder{t}, nil
}

// planned returns the headers of all tensors of p.
func planned(p *format.Plan) [][]byte {
	headers := make([][]byte, len(p.Tensors))
	for i := range p.Tensors {
		headers[i] = encode(&p.Tensors[i])
	}
	return headers
}

func (e encoder) Tensor(_ int, in *sink.Input) error { return in.CopyTo(e.t, headerSize) }

// Finish has nothing to do: the header was complete from the start.
func (e encoder) Finish() error { return nil }
