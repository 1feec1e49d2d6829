package format

import (
	"bytes"
	"io"
	"iter"
	"slices"

	"github.com/weightmap/weightmap/internal/save"
	"github.com/weightmap/weightmap/tensor"
)

// Writer writes one model. It is safe for concurrent use, but takes one tensor
// at a time. Every Writer must end in Close or Abort; Abort after Close does
// nothing, so it can be deferred. Calls wait for each other: what one of them calls, a reader or
// WriteOptions.Progress, must not call the Writer, but may cancel its context.
type Writer struct{ w *save.Writer }

// WriteTensor takes the little-endian data of a tensor of the plan: exactly
// as many bytes as it has. Tensors may come in any order; in the plan's
// order they are never moved. A name that is not in the plan is ErrNotFound, one
// that was written ErrPlan, and the next tensor may come all the same. After any other
// failure nothing is left but to give up: the temporary file is gone, and every
// call returns ErrAborted.
func (w *Writer) WriteTensor(name string, r io.Reader) error { return w.w.WriteTensor(name, r) }

// Close completes the file and puts it in place of the old one. It fails,
// leaving the old file, when a tensor was not written. The one error that comes
// with the new file in place is ErrNotDurable.
func (w *Writer) Close() error { return w.w.Close() }

// Abort gives up: the old file stays as it was, nothing else is left.
func (w *Writer) Abort() error { return w.w.Abort() }

// Files returns the paths of the files that are written, the one that opens the model
// first. It is nil for NewWriter.
func (w *Writer) Files() []string { return w.w.Files() }

// Create starts writing a model to path, in a temporary file next to it that
// takes its place on Close. A format without a name goes by path's extension.
func Create(format, path string, p *Plan, o *WriteOptions) (*Writer, error) {
	c, err := For(format, path)
	if err != nil {
		return nil, err
	}
	return c.Create(path, p, o)
}

// NewWriter starts writing a model to w. Formats whose header is known from the
// plan write straight through; the others assemble the file elsewhere first, as
// WriteOptions.Spool says, and nothing reaches w before Close.
func NewWriter(format string, w io.Writer, p *Plan, o *WriteOptions) (*Writer, error) {
	c, err := Lookup(format)
	if err != nil {
		return nil, err
	}
	return c.NewWriter(w, p, o)
}

// Save writes tensors to path under their own names, with their quantization, in one call:
// what tensor.Of makes of slices, or views of open models. The file appears whole or not at all, as
// with Create. A format without a name goes by path's extension.
func Save(path, format string, views ...tensor.View) error {
	p := &Plan{}
	for _, v := range views {
		if _, err := v.ReadAt(nil, 0); err != nil { // one that came with an error, or is closed
			return err
		}
		p.Tensors = append(p.Tensors, v.Info())
	}
	w, err := Create(format, path, p, nil)
	if err != nil {
		return err
	}
	return writeViews(w, slices.Values(views))
}

// writeViews writes tensors and closes w; if anything fails it aborts.
func writeViews(w *Writer, views iter.Seq[tensor.View]) error {
	defer w.Abort()
	for v := range views {
		if err := WriteView(w, v); err != nil {
			return err
		}
	}
	return w.Close()
}

// WriteView writes the tensor v under its own name, guarded against the file it
// comes from being cut short. A plan with another dtype or other quantization for these
// bytes is refused; the shape is the plan's.
func WriteView(w *Writer, v tensor.View) error {
	if err := w.w.Agrees(v.Info()); err != nil {
		return err
	}
	return v.Use(func(b []byte) error { return w.WriteTensor(v.Name(), bytes.NewReader(b)) })
}

// Copy writes all tensors of m and closes w; if anything fails it aborts.
//
// With the plan that PlanOf makes a copy keeps what formats have in common, or
// is refused: tensors with their names, dtypes, shapes and bits, quantization,
// metadata and graph. How a file stores them is not kept but chosen anew by the
// target's options: compression, encryption, signature, external files,
// checksums. What one format alone knows, such as doc strings, is kept where the format
// has a Native (see Plan), and lost elsewhere. A plan
// that says more or less than the model is the caller's choice; one that
// contradicts it, by another dtype or other quantization for the same bytes, is
// refused.
func Copy(w *Writer, m *Model) error { return writeViews(w, m.views) }
