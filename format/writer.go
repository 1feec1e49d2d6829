package format

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/tensor"
)

// Writer writes one model. It is safe for concurrent use, but takes one tensor
// at a time. Every Writer must end in Close or Abort; Abort after Close does
// nothing, so it can be deferred.
type Writer interface {
	// WriteTensor takes the little-endian data of a tensor of the plan: exactly
	// as many bytes as it has. Tensors may come in any order; in the plan's
	// order they are never moved. After a failure nothing is left but to give up:
	// the temporary file is gone, and every call returns ErrAborted.
	WriteTensor(name string, r io.Reader) error
	// Close completes the file and puts it in place of the old one. It fails,
	// leaving the old file, when a tensor was not written.
	Close() error
	// Abort gives up: the old file stays as it was, nothing else is left.
	Abort() error
}

// WriteOptions changes how a model is written. Nil and the zero value work.
type WriteOptions struct {
	// Context cancels; nil means never.
	Context context.Context
	// Progress is called as bytes are taken in.
	Progress Progress
	// Time is the creation time that formats record; zero means now.
	Time time.Time
	// NoSync commits without waiting for stable storage: a crash of the system
	// may lose the file or leave it empty.
	NoSync bool
	// Spool says where NewWriter keeps a file that cannot be written from
	// front to back.
	Spool Spool
	// AcceptLoss names what may get lost when the format has no place for it:
	// kinds of losses ("metadata"), or single ones ("metadata:author"). Whatever
	// else cannot be kept is refused with a LossError that lists all of it,
	// before anything is written. Naming what does not get lost does no harm; a
	// kind that does not exist is refused.
	AcceptLoss []string
}

// Spool says where a file is assembled whose header depends on its data.
type Spool uint8

const (
	SpoolFile   Spool = iota // in a temporary file
	SpoolMemory              // in memory
	SpoolNever               // nowhere: what cannot be streamed is refused
)

// WithDefaults returns a copy with context and time filled in. It works on nil.
func (o *WriteOptions) WithDefaults() *WriteOptions {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	if c.Time.IsZero() {
		c.Time = time.Now()
	}
	return &c
}

// Create starts writing a model to path, in a temporary file beside it that
// takes its place on Close. A format without a name goes by path's extension.
func Create(format, path string, p *Plan, o *WriteOptions) (Writer, error) {
	if c, ok := ByExtension(path); ok && format == "" {
		return c.CreateFile(path, p, o)
	}
	c, err := Lookup(format)
	if err != nil {
		return nil, err
	}
	return c.CreateFile(path, p, o)
}

// NewWriter starts writing a model to w. A format that must know the data
// before it can write its header assembles the file elsewhere first, as
// WriteOptions.Spool says; then nothing reaches w before Close.
func NewWriter(format string, w io.Writer, p *Plan, o *WriteOptions) (Writer, error) {
	c, err := Lookup(format)
	if err != nil {
		return nil, err
	}
	return c.NewWriter(w, p, o)
}

// CreateFile is Create for this format.
func (c *Codec) CreateFile(path string, p *Plan, opts *WriteOptions) (Writer, error) {
	o := opts.WithDefaults()
	if c.Create != nil {
		w, err := c.Create(path, p, o)
		return w, named(err, c.Name, path)
	}
	f, err := sink.CreateFile(path)
	if err != nil {
		return nil, named(err, c.Name, path)
	}
	t := sink.NewBuffer(f)
	end := ending{abort: f.Abort, commit: func() error {
		if err := t.Flush(); err != nil {
			f.Abort()
			return err
		}
		return f.Commit(!o.NoSync)
	}}
	return c.start(t, path, p, o, end)
}

// NewWriter is the package's NewWriter for this format.
func (c *Codec) NewWriter(w io.Writer, p *Plan, opts *WriteOptions) (Writer, error) {
	o := opts.WithDefaults()
	switch o.Spool {
	case SpoolNever:
		return c.start(sink.NewStream(w), "", p, o, ending{})
	case SpoolMemory:
		m := &sink.Memory{}
		return c.start(m, "", p, o, ending{commit: func() error {
			_, err := w.Write(m.Bytes())
			return err
		}})
	}
	s, err := sink.NewSpool()
	if err != nil {
		return nil, named(err, c.Name, "")
	}
	t := sink.NewBuffer(s)
	return c.start(t, "", p, o, ending{abort: s.Remove, commit: func() error {
		defer s.Remove()
		if err := t.Flush(); err != nil {
			return err
		}
		if _, err := s.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, s.File)
		return err
	}})
}

// ending is what becomes of an assembled file. Either function may be nil.
type ending struct {
	commit func() error
	abort  func()
}

// start checks the plan and hands it to the format.
func (c *Codec) start(t sink.Target, path string, p *Plan, o *WriteOptions, end ending) (Writer, error) {
	w := &writer{codec: c, path: path, opts: o, end: end}
	var err error
	if w.plan, w.index, err = p.completed(c.Name); err == nil {
		w.plan, err = c.fit(w.plan, o)
	}
	if err == nil {
		var enc Encoder
		if enc, err = c.Encode(t, w.plan, o); err == nil {
			w.enc, err = enc, o.Context.Err()
		}
	}
	if err != nil {
		w.giveUp(err)
		return nil, named(err, c.Name, path)
	}
	w.written = make([]bool, len(w.plan.Tensors))
	for _, t := range w.plan.Tensors {
		w.total += t.Size
	}
	return w, nil
}

// writer drives an Encoder: names, sizes, order, cancellation, progress and
// the end are the same for all formats.
type writer struct {
	codec *Codec
	path  string
	opts  *WriteOptions
	enc   Encoder
	end   ending

	mu      sync.Mutex
	plan    *Plan
	index   map[string]int
	written []bool
	done    int64
	total   int64
	over    error // why no call works any more, io.EOF after a good Close
}

func (w *writer) WriteTensor(name string, r io.Reader) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over != nil {
		return w.refusal()
	}
	i, ok := w.index[name]
	if !ok {
		return planError(w.codec.Name, name, fmt.Errorf("not in the plan"))
	}
	if w.written[i] {
		return planError(w.codec.Name, name, fmt.Errorf("already written"))
	}
	// A panic of the reader, such as a memory fault that View.Use will catch,
	// must not leave a writer that seems to work.
	finished := false
	defer func() {
		if !finished {
			w.giveUp(fmt.Errorf("the reader of tensor %q panicked", name))
		}
	}()
	err := w.take(i, r)
	finished = true
	if err != nil {
		err = &Error{Format: w.codec.Name, Path: w.path, Field: fmt.Sprintf("tensor %q", name), Offset: -1, Err: err}
		w.giveUp(err)
		return err
	}
	w.written[i] = true
	return nil
}

func (w *writer) take(i int, r io.Reader) error {
	t := &w.plan.Tensors[i]
	in := sink.NewInput(w.opts.Context, r, t.Size, func(n int) {
		w.done += int64(n)
		if w.opts.Progress != nil {
			w.opts.Progress(w.done, w.total, t.Name)
		}
	})
	if err := w.opts.Context.Err(); err != nil {
		return err
	}
	if err := w.enc.Tensor(i, in); err != nil {
		return err
	}
	return in.Finish()
}

func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == io.EOF {
		return nil
	}
	if w.over != nil {
		return w.refusal()
	}
	if err := w.complete(); err != nil {
		err = named(err, w.codec.Name, w.path)
		w.giveUp(err)
		return err
	}
	w.over = io.EOF
	return nil
}

func (w *writer) complete() error {
	if err := w.opts.Context.Err(); err != nil {
		return err
	}
	for i, ok := range w.written {
		if !ok {
			return planError(w.codec.Name, w.plan.Tensors[i].Name, fmt.Errorf("not written before Close"))
		}
	}
	err := w.enc.Finish()
	if err == nil {
		err = w.release()
	}
	if err == nil && w.end.commit != nil {
		// A commit that fails cleans up after itself.
		commit := w.end.commit
		w.end.abort = nil
		err = commit()
	}
	return err
}

func (w *writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == nil {
		w.giveUp(context.Canceled)
	}
	return nil
}

// giveUp removes what was written and remembers why.
func (w *writer) giveUp(err error) {
	w.over = err
	_ = w.release()
	if w.end.abort != nil {
		w.end.abort()
		w.end.abort = nil
	}
}

// release frees what the encoder holds beside the target.
func (w *writer) release() error {
	c, ok := w.enc.(io.Closer)
	w.enc = nil
	if ok {
		return c.Close()
	}
	return nil
}

// refusal is the answer of a writer that is over.
func (w *writer) refusal() error {
	cause := fmt.Errorf("%w: closed", ErrAborted)
	if w.over != io.EOF {
		cause = fmt.Errorf("%w: %w", ErrAborted, w.over)
	}
	return &Error{Format: w.codec.Name, Path: w.path, Offset: -1, Err: cause}
}

// WriteView writes the tensor v under its own name, guarded against the file it
// comes from being cut short.
func WriteView(w Writer, v tensor.View) error {
	return v.Use(func(b []byte) error { return w.WriteTensor(v.Name(), bytes.NewReader(b)) })
}

// Copy writes all tensors of m and closes w; if anything fails it aborts.
//
// With the plan that PlanOf makes a copy keeps what formats have in common, or
// is refused: tensors with their names, dtypes, shapes and bits, quantisation,
// metadata and graph. How a file stores them is not kept but chosen anew by the
// target's options: compression, encryption, signature, external files,
// checksums; nor is what one format alone knows, such as doc strings. A plan
// that says more or less than the model is the caller's choice; one that
// contradicts it, by another dtype or other quantisation for the same bytes, is
// refused.
func Copy(w Writer, m Model) error {
	defer w.Abort()
	own, _ := w.(*writer)
	for _, v := range m.Tensors() {
		if own != nil {
			if err := own.agrees(v.Info()); err != nil {
				return err
			}
		}
		if err := WriteView(w, v); err != nil {
			return err
		}
	}
	return w.Close()
}

// agrees refuses a tensor whose bytes mean something else to the plan.
func (w *writer) agrees(from tensor.Info) error {
	i, ok := w.index[from.Name]
	if !ok {
		return nil // WriteTensor will say so
	}
	to := &w.plan.Tensors[i]
	switch {
	case to.DType != from.DType:
		return planError(w.codec.Name, to.Name, fmt.Errorf("%w: the plan has %v, the model %v", ErrDType, to.DType, from.DType))
	case to.Quant != nil && from.Quant != nil && !to.Quant.Equal(from.Quant):
		return planError(w.codec.Name, to.Name, fmt.Errorf("%w: the plan has others than the model", ErrQuantization))
	}
	return nil
}
