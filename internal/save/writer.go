// Package save writes models. It checks a plan, asks the driver for the layout, and writes tensors of
// checked sizes to a target that becomes visible only when committed.
package save

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Writer drives an encoder. Names, sizes, order, cancellation, progress and completion are the same
// for all formats.
type Writer struct {
	driver driver.Driver
	o      *driver.WriteOptions // validated
	format string
	layout *driver.Layout // nil for shards
	enc    driver.Encoder // nil once released
	out    output         // nil once committed, and for encoders that create files themselves
	files  []string       // files being written, if other than the one path

	mu      sync.Mutex
	plan    *driver.Plan
	index   *names // tensors of the plan
	next    int    // the expected tensor if they arrive in the plan's order
	in      *Input // the current tensor
	at      string // its name
	written []bool
	done    int64
	total   int64
	over    error  // why no further call works; io.EOF after a successful Close
	queue   *queue // orders tensors for a target or driver that needs an order; else nil
}

// output is a target that can be committed or aborted.
type output interface {
	driver.Target
	Commit(sync bool) error // on failure it cleans up
	Abort()
}

// Create starts writing a model to o.Path.
func Create(d driver.Driver, p *driver.Plan, o *driver.WriteOptions) (*Writer, error) {
	w, err := newWriter(d, p, o)
	if err != nil {
		return nil, err
	}
	return w.started(func() error {
		if o.MaxShard > 0 {
			return w.createShards()
		}
		if w.layout.Files != nil {
			return w.createDirectory()
		}
		f, err := CreateFile(o.Path)
		if err != nil {
			return err
		}
		return w.start(f, w.layout.Ordered)
	})
}

// NewWriter starts writing to out. It streams if the format and the plan allow it; otherwise it
// assembles the file in a spool first.
func NewWriter(d driver.Driver, out io.Writer, p *driver.Plan, o *driver.WriteOptions) (*Writer, error) {
	w, err := newWriter(d, p, o)
	switch {
	case err != nil:
		return nil, err
	case o.MaxShard > 0:
		return nil, driver.OptionError(w.format, "MaxShard", "only Create makes several files")
	case out == nil:
		return nil, &tensor.Error{Format: w.format, Field: "writer", Offset: -1, Err: fs.ErrInvalid}
	}
	return w.started(func() error {
		streams := w.layout.Streams || w.layout.Encode == nil && w.layout.Late == nil
		if o.Spool == driver.SpoolNever || streams {
			return w.start(NewStream(out), true)
		}
		s, err := newSpool(o.Spool)
		if err != nil {
			return err
		}
		return w.start(&copied{s, out}, w.layout.Ordered)
	})
}

// newWriter checks the plan and asks the driver for its layout.
func newWriter(d driver.Driver, p *driver.Plan, o *driver.WriteOptions) (*Writer, error) {
	w := &Writer{driver: d, o: o, format: d.Describe().Name}
	err := w.complete(p)
	if err == nil {
		w.plan, err = driver.Fit(d, w.plan, o, o.AcceptLoss)
	}
	if err == nil && o.MaxShard == 0 {
		w.layout, err = w.layoutOf(w.plan)
	}
	if err != nil {
		return nil, w.explain(err)
	}
	return w, nil
}

// layoutOf asks the driver for the layout of a plan.
func (w *Writer) layoutOf(p *driver.Plan) (*driver.Layout, error) {
	d, ok := w.driver.(driver.Layouter)
	if !ok {
		return nil, fmt.Errorf("%w: the format cannot be written", driver.ErrUnsupported)
	}
	l, err := d.Layout(p, w.o)
	if err == nil && l == nil {
		err = fmt.Errorf("%w: the driver made no layout", driver.ErrPlan)
	}
	return l, err
}

// start writes everything that precedes the data. ordered means that the driver needs the tensors in
// the order of the file.
func (w *Writer) start(t output, ordered bool) error {
	w.out = t
	enc, order, err := encoderOf(t, w.plan, w.layout)
	if err != nil {
		return err
	}
	w.enc = enc
	if ordered {
		w.queue = &queue{spool: w.o.Spool, order: order}
		if w.layout.Secret {
			w.queue.spool = driver.SpoolMemory
		}
	}
	return nil
}

// encoderOf returns the encoder of a layout and the order of its tensors, nil for the plan's order.
func encoderOf(t driver.Target, p *driver.Plan, l *driver.Layout) (driver.Encoder, []int, error) {
	if l.Encode == nil {
		e, err := newLayoutEncoder(t, p, l)
		if err != nil {
			return nil, nil, err
		}
		return e, e.order, nil
	}
	enc, err := l.Encode(t)
	if err == nil && enc == nil {
		err = fmt.Errorf("%w: the driver made no encoder", driver.ErrPlan)
	}
	return enc, nil, err
}

// started calls start, which creates the output, and returns the writer.
func (w *Writer) started(start func() error) (*Writer, error) {
	err := w.attempt(func() error { return w.explain(cmp.Or(start(), w.o.Context.Err())) })
	if err != nil {
		return nil, err
	}
	w.in = NewInput(w.o.Context, nil, 0, w.moved)
	w.written = make([]bool, len(w.plan.Tensors))
	for _, t := range w.plan.Tensors {
		w.total += t.Size
	}
	return w, nil
}

// attempt aborts the write if f fails, or if a user callback in it panics (a reader, a signer,
// Progress).
func (w *Writer) attempt(f func() error) error {
	err := errPanicked
	defer func() {
		if err != nil {
			w.giveUp(err)
		}
	}()
	err = f()
	return err
}

var errPanicked = errors.New("a function of the program panicked")

// Files returns the paths of the files being written, the one that opens the model first. It returns
// nil for a writer without a path.
func (w *Writer) Files() []string {
	if path := w.o.Path; w.files == nil && path != "" {
		return []string{path}
	}
	return w.files
}

// WriteTensor writes the data of a tensor of the plan.
func (w *Writer) WriteTensor(name string, r io.Reader) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over != nil {
		return w.refusal()
	}
	i, ok := w.find(name)
	if !ok {
		return w.planError(name, fmt.Errorf("%w in the plan", tensor.ErrNotFound))
	}
	if w.written[i] {
		return w.planError(name, errors.New("already written"))
	}
	return w.attempt(func() error {
		if err := w.take(i, r); err != nil {
			return &tensor.Error{Format: w.format, Path: w.o.Path, Field: tensorField(name), Offset: -1, Err: err}
		}
		w.written[i], w.next = true, i+1
		return nil
	})
}

// find returns the index of a tensor by name. Most tensors arrive in the plan's order.
func (w *Writer) find(name string) (i int, ok bool) {
	if i := w.next; i < len(w.plan.Tensors) && w.plan.Tensors[i].Name == name {
		return i, true
	}
	i = int(*w.index.slot(name))
	return i, i >= 0
}

// moved counts bytes for Progress.
func (w *Writer) moved(n int) {
	w.done += int64(n)
	if w.o.Progress != nil {
		w.o.Progress(w.done, w.total, w.at)
	}
}

// take encodes tensor i, then the stored tensors that follow it.
func (w *Writer) take(i int, r io.Reader) error {
	if err := w.o.Context.Err(); err != nil {
		return err
	}
	w.at = w.plan.Tensors[i].Name
	in := w.in
	in.reset(r, w.plan.Tensors[i].Size)
	defer in.reset(nil, 0)
	if w.queue != nil && w.queue.turn() != i {
		if err := w.queue.keep(i, in); err != nil {
			return err
		}
		return in.Finish()
	}
	for {
		if err := w.enc.Tensor(i, in); err != nil {
			return err
		}
		if err := in.Finish(); err != nil || w.queue == nil {
			return err
		}
		if i, r = w.queue.next(); r == nil {
			return nil
		}
		in = NewInput(w.o.Context, r, w.plan.Tensors[i].Size, nil)
	}
}

// Agrees checks that from has the type and quantization that the plan says.
func (w *Writer) Agrees(from tensor.Info) error {
	i, ok := w.find(from.Name)
	if !ok {
		return nil // WriteTensor reports it
	}
	to := &w.plan.Tensors[i]
	switch {
	case to.TypeName() != from.TypeName():
		return w.planError(to.Name, fmt.Errorf("%w: the plan has %s, the model %s", tensor.ErrDType, to.TypeName(), from.TypeName()))
	case to.Quant != nil && from.Quant != nil && !to.Quant.Equal(from.Quant):
		return w.planError(to.Name, fmt.Errorf("%w: the plan has others than the model", tensor.ErrQuantization))
	}
	return nil
}

// Close completes the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == io.EOF {
		return nil
	}
	if w.over != nil {
		return w.refusal()
	}
	return w.attempt(func() error {
		if err := w.finish(); err != nil {
			return w.explain(err)
		}
		w.over = io.EOF
		return nil
	})
}

func (w *Writer) finish() error {
	if err := w.o.Context.Err(); err != nil {
		return err
	}
	for i, ok := range w.written {
		if !ok {
			return w.planError(w.plan.Tensors[i].Name, errors.New("not written before Close"))
		}
	}
	err := w.enc.Finish()
	// An encoder that creates other files is released only after this file is committed.
	committed := w.layout != nil && w.layout.Committed != nil
	if err == nil && !committed {
		err = w.release()
	}
	if err == nil && w.out != nil {
		out := w.out
		w.out = nil
		err = out.Commit(!w.o.NoSync)
	}
	if committed && (err == nil || errors.Is(err, driver.ErrNotDurable)) {
		w.layout.Committed(err == nil)
		_ = w.release()
	}
	return err
}

// Abort discards the model.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == nil {
		w.giveUp(context.Canceled)
	}
	return nil
}

// giveUp removes the written data and records the reason.
func (w *Writer) giveUp(err error) {
	w.over = err
	_ = w.release()
	if w.out != nil {
		w.out.Abort()
		w.out = nil
	}
}

// release frees what the encoder holds besides the target.
func (w *Writer) release() error {
	w.queue.remove()
	c, ok := w.enc.(io.Closer)
	w.enc = nil
	if ok {
		return c.Close()
	}
	return nil
}

// refusal returns the error of calls after the end.
func (w *Writer) refusal() error {
	if w.over == io.EOF {
		return w.explain(fmt.Errorf("%w: closed", driver.ErrAborted))
	}
	return &tensor.Error{Format: w.format, Path: w.o.Path, Offset: -1, Err: fmt.Errorf("%w: %w", driver.ErrAborted, w.over)}
}

func (w *Writer) explain(err error) error { return wire.Explain(err, w.format, w.o.Path) }

// planError returns an error about a tensor of the plan.
func (w *Writer) planError(name string, err error) error {
	return &tensor.Error{Format: w.format, Field: tensorField(name), Offset: -1, Err: fmt.Errorf("%w: %w", driver.ErrPlan, err)}
}

func tensorField(name string) string { return fmt.Sprintf("tensor %q", name) }
