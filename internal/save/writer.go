// Package save writes models: it checks a plan, asks the driver for the layout, and feeds
// tensors with their sizes checked into a target that becomes visible only when it is committed.
package save

import (
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

// SpoolMode says where what cannot be written from front to back is assembled.
type SpoolMode uint8

// The values of SpoolMode.
const (
	SpoolFile   SpoolMode = iota // in a temporary file
	SpoolMemory                  // in memory
	SpoolNever                   // nowhere: it is refused
)

// Config says how a model is written.
type Config struct {
	Driver   driver.Driver
	Options  driver.WriteOptions
	Progress driver.Progress
	Spool    SpoolMode
	Accept   []string // losses
	MaxShard int64    // bytes of tensors in a file, 0 for no limit
}

// Writer drives an encoder: names, sizes, order, cancellation, progress and
// the end are the same for all formats.
type Writer struct {
	cfg    *Config
	format string
	layout *driver.Layout // nil for shards
	enc    driver.Encoder // nil when it was released
	out    output         // nil when it was committed, and for encoders that make files themselves
	files  []string       // that are written, if it is not one path

	mu      sync.Mutex
	plan    *driver.Plan
	index   map[string]int // tensors of the plan
	next    int            // the tensor that comes if they come in the plan's order
	at      string         // the tensor at work
	in      *Input         // of that
	written []bool
	done    int64
	total   int64
	over    error  // why no call works any more, io.EOF after a good Close
	queue   *queue // puts tensors in order for a target or driver that takes no other; else nil
}

// output is a target with an end.
type output interface {
	driver.Target
	Commit(sync bool) error // cleans up after itself when it fails
	Abort()
}

// Create starts writing what is to appear at c.Options.Path.
func Create(p *driver.Plan, c *Config) (*Writer, error) {
	w, err := newWriter(p, c)
	if err != nil {
		return nil, err
	}
	switch {
	case c.MaxShard > 0:
		err = w.createShards()
	case w.layout.Files != nil:
		err = w.createDirectory()
	default:
		w.setOrder(w.layout.Ordered)
		var f *File
		if f, err = CreateFile(c.Options.Path); err == nil {
			err = w.start(newBuffer(f))
		}
	}
	return w.started(err)
}

// NewWriter starts writing to out: straight through where the format and the plan
// allow it, else after the file was assembled elsewhere.
func NewWriter(out io.Writer, p *driver.Plan, c *Config) (*Writer, error) {
	w, err := newWriter(p, c)
	switch {
	case err != nil:
		return nil, err
	case c.MaxShard > 0:
		return nil, driver.OptionError(w.format, "MaxShard", "only Create makes several files")
	case out == nil:
		return nil, &tensor.Error{Format: w.format, Field: "writer", Offset: -1, Err: fs.ErrInvalid}
	}
	if c.Spool == SpoolNever || w.streams() {
		w.setOrder(true)
		return w.started(w.start(NewStream(out)))
	}
	w.setOrder(w.layout.Ordered)
	if c.Spool == SpoolMemory {
		return w.started(w.start(&copied{&Memory{}, out}))
	}
	s, err := NewSpool()
	if err == nil {
		err = w.start(newBuffer(&copied{s, out}))
	}
	return w.started(err)
}

// newWriter checks the plan and asks the driver how it is written.
func newWriter(p *driver.Plan, c *Config) (*Writer, error) {
	w := &Writer{cfg: c, format: c.Driver.Describe().Name}
	err := w.complete(p)
	if err == nil {
		w.plan, err = driver.Fit(c.Driver, w.plan, &c.Options, c.Accept)
	}
	if err == nil && c.MaxShard == 0 {
		w.layout, err = layoutOf(c, w.plan)
	}
	if err != nil {
		return nil, w.explain(err)
	}
	return w, nil
}

// layoutOf asks the driver for the layout of a plan.
func layoutOf(c *Config, p *driver.Plan) (*driver.Layout, error) {
	d, ok := c.Driver.(driver.Layouter)
	if !ok {
		return nil, fmt.Errorf("%w: the format cannot be written", driver.ErrUnsupported)
	}
	l, err := d.Layout(p, &c.Options)
	if err == nil && l == nil {
		err = fmt.Errorf("%w: the driver made no layout", driver.ErrPlan)
	}
	return l, err
}

// streams reports whether the file can be written from front to back.
func (w *Writer) streams() bool {
	return w.layout.Streams || w.layout.Encode == nil && w.layout.Late == nil
}

// setOrder has early tensors wait for a driver or target that takes them in one order only.
func (w *Writer) setOrder(ordered bool) {
	if !ordered {
		return
	}
	w.queue = &queue{spool: w.cfg.Spool}
	if w.layout.Secret {
		w.queue.spool = SpoolMemory
	}
}

// start writes what is known before the data.
func (w *Writer) start(t output) error {
	w.out = t
	finished := false
	defer w.giveUpUnless(&finished)
	enc, order, err := encoderOf(t, w.plan, w.layout)
	finished = true
	if err != nil {
		return err
	}
	w.enc = enc
	if w.queue != nil {
		w.queue.order = order
	}
	return nil
}

// encoderOf returns the encoder of a layout, and the order of its tensors, nil for the plan's.
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

// started completes or undoes the start.
func (w *Writer) started(err error) (*Writer, error) {
	if err == nil {
		err = w.cfg.Options.Context.Err()
	}
	if err != nil {
		w.giveUp(err)
		return nil, w.explain(err)
	}
	w.in = NewInput(w.cfg.Options.Context, nil, 0, w.moved)
	w.written = make([]bool, len(w.plan.Tensors))
	for _, t := range w.plan.Tensors {
		w.total += t.Size
	}
	return w, nil
}

// Files returns the paths of the files that are written, the one that opens the model
// first. It is nil for a writer without a path.
func (w *Writer) Files() []string {
	if path := w.cfg.Options.Path; w.files == nil && path != "" {
		return []string{path}
	}
	return w.files
}

// WriteTensor takes the data of a tensor of the plan.
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
	finished := false
	defer w.giveUpUnless(&finished)
	err := w.take(i, r)
	finished = true
	if err != nil {
		err = &tensor.Error{Format: w.format, Path: w.cfg.Options.Path, Field: tensorField(name), Offset: -1, Err: err}
		w.giveUp(err)
		return err
	}
	w.written[i] = true
	w.next = i + 1
	return nil
}

// find returns the index of a tensor of the plan. Most come in its order.
func (w *Writer) find(name string) (i int, ok bool) {
	if i := w.next; i < len(w.plan.Tensors) && w.plan.Tensors[i].Name == name {
		return i, true
	}
	i, ok = w.index[name]
	return i, ok
}

// moved counts bytes that were taken in.
func (w *Writer) moved(n int) {
	w.done += int64(n)
	if w.cfg.Progress != nil {
		w.cfg.Progress(w.done, w.total, w.at)
	}
}

// take feeds the encoder with tensor i, and with those that waited for it.
func (w *Writer) take(i int, r io.Reader) error {
	ctx := w.cfg.Options.Context
	if err := ctx.Err(); err != nil {
		return err
	}
	w.at = w.plan.Tensors[i].Name
	in := w.in
	in.reset(r, w.plan.Tensors[i].Size)
	defer in.reset(nil, 0)
	if w.queue != nil && !w.queue.isNext(i) {
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
		in = NewInput(ctx, r, w.plan.Tensors[i].Size, nil)
	}
}

// Agrees refuses a tensor whose bytes mean something else to the plan.
func (w *Writer) Agrees(from tensor.Info) error {
	i, ok := w.find(from.Name)
	if !ok {
		return nil // WriteTensor will say so
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
	finished := false
	defer w.giveUpUnless(&finished)
	err := w.finish()
	finished = true
	if err != nil {
		err = w.explain(err)
		w.giveUp(err)
		return err
	}
	w.over = io.EOF
	return nil
}

func (w *Writer) finish() error {
	if err := w.cfg.Options.Context.Err(); err != nil {
		return err
	}
	for i, ok := range w.written {
		if !ok {
			return w.planError(w.plan.Tensors[i].Name, errors.New("not written before Close"))
		}
	}
	err := w.enc.Finish()
	// An encoder with other files is released when it knows what became of this one.
	committed := w.layout != nil && w.layout.Committed != nil
	if err == nil && !committed {
		err = w.release()
	}
	if err == nil && w.out != nil {
		out := w.out
		w.out = nil
		err = out.Commit(!w.cfg.Options.NoSync)
	}
	if committed && (err == nil || errors.Is(err, driver.ErrNotDurable)) {
		w.layout.Committed(err == nil)
		_ = w.release()
	}
	return err
}

// Abort gives up.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == nil {
		w.giveUp(context.Canceled)
	}
	return nil
}

// giveUpUnless is deferred around calls of the program's functions (a reader, a signer,
// Progress): it aborts the write if one panics.
func (w *Writer) giveUpUnless(finished *bool) {
	if !*finished {
		w.giveUp(errPanicked)
	}
}

var errPanicked = errors.New("a function of the program panicked")

// giveUp removes what was written and remembers why.
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

// refusal is the answer of a writer that is over.
func (w *Writer) refusal() error {
	if w.over == io.EOF {
		return w.explain(fmt.Errorf("%w: closed", driver.ErrAborted))
	}
	return &tensor.Error{Format: w.format, Path: w.cfg.Options.Path, Offset: -1, Err: fmt.Errorf("%w: %w", driver.ErrAborted, w.over)}
}

func (w *Writer) explain(err error) error { return wire.Explain(err, w.format, w.cfg.Options.Path) }

// planError says which tensor of the plan cannot be written.
func (w *Writer) planError(name string, err error) error {
	return &tensor.Error{Format: w.format, Field: tensorField(name), Offset: -1, Err: fmt.Errorf("%w: %w", driver.ErrPlan, err)}
}

func tensorField(name string) string { return fmt.Sprintf("tensor %q", name) }
