package format

import (
	"bytes"
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/weightmap/weightmap/format/driver"
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

// WriteOptions changes how a model is written. Nil and the zero value work.
type WriteOptions struct {
	// Context cancels; nil means never.
	Context context.Context
	// Progress is called as bytes are taken in, by who writes. It must not call the Writer.
	Progress Progress
	// Time is the creation time that formats record; zero means none, so that the same plan gives the same bytes.
	// A signature's time is now then.
	Time time.Time
	// NoSync commits without waiting for stable storage: a crash of the system
	// may lose the file or leave it empty.
	NoSync bool
	// Spool says where NewWriter keeps what cannot be written from front to back.
	Spool Spool
	// AcceptLoss names what may get lost when the format cannot hold it:
	// kinds of losses ("metadata"), or single ones ("metadata:author"). Whatever
	// else cannot be kept is refused with a LossError that lists all of it,
	// before anything is written. Naming what does not get lost does no harm; a
	// kind that does not exist is refused.
	AcceptLoss []string
	// KeepNames has a format that numbers tensors (MOBI) keep the plan's names all the
	// same, and parameters of quantization that nothing else there has room for, in a
	// place that its readers look past. Package convert finds them again.
	KeepNames bool
	// MaxShard has Create write several files with at most that many bytes of tensors each, or one
	// larger tensor, in the plan's order (safetensors, gguf); 0 means one file. From "m.safetensors"
	// it makes "m-00001-of-00002.safetensors" and so on with "m.safetensors.index.json", which opens the
	// model; of GGUF the first part does. If all fits into one file, that has the path itself. The files
	// appear together, and replace the model that was at the path, in one file or several.
	MaxShard int64
	// Storage asks for compression, a signature and the like by the names that formats
	// share; what the format does not have is ErrOption.
	Storage Storage
	// Format has the options that the format alone has: its package's WriteOptions,
	// such as *mle.WriteOptions, whose embedded common options are not looked at.
	// Another type is ErrOption.
	Format any
}

// Spool says where a file is assembled whose header depends on its data, and
// where tensors wait that come before their turn.
type Spool uint8

const (
	SpoolFile   Spool = iota // in a temporary file
	SpoolMemory              // in memory
	SpoolNever               // nowhere: what cannot be streamed is ErrUnsupported
)

// checked returns a copy with a context. It works on nil.
func (o *WriteOptions) checked() (*WriteOptions, error) {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	if c.Spool > SpoolNever {
		return nil, optionError("Spool", int64(c.Spool))
	}
	if c.MaxShard < 0 {
		return nil, optionError("MaxShard", c.MaxShard)
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	return &c, nil
}

// config returns what package save takes of the options.
func (o *WriteOptions) config(d driver.Driver, path string) *save.Config {
	return &save.Config{
		Driver: d, Progress: o.Progress, Spool: save.SpoolMode(o.Spool), Accept: o.AcceptLoss, MaxShard: o.MaxShard,
		Options: driver.WriteOptions{Context: o.Context, Time: o.Time, Path: path, NoSync: o.NoSync, KeepNames: o.KeepNames},
	}
}

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
