package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/tensor"
)

// Spool says where what cannot be written from front to back is assembled.
type Spool uint8

// The values of Spool.
const (
	SpoolFile   Spool = iota // in a temporary file
	SpoolMemory              // in memory
	SpoolNever               // nowhere: it is refused
)

// WriteConfig says how a model is written.
type WriteConfig struct {
	Driver   driver.Driver
	Options  driver.WriteOptions
	Progress driver.Progress
	Spool    Spool
	Accept   []string // losses
	MaxShard int64    // bytes of tensors in a file, 0 for no limit
}

// Writer drives an encoder: names, sizes, order, cancellation, progress and
// the end are the same for all formats.
type Writer struct {
	format string
	path   string
	cfg    *WriteConfig
	enc    driver.Encoder
	end    ending

	mu      sync.Mutex
	plan    *driver.Plan
	index   *names
	next    int         // the tensor that comes if they come in the plan's order
	in      *sink.Input // of the tensor at work
	at      string      // its name
	written []bool
	done    int64
	total   int64
	over    error          // why no call works any more, io.EOF after a good Close
	layout  *driver.Layout // nil for shards
	queue   *queue         // puts tensors in order for a target or driver that takes no other; else nil
	files   []string       // that are written, if it is not path alone
}

// ending is what becomes of an assembled file. Either function may be nil.
type ending struct {
	commit func() error
	abort  func()
}

// Create starts writing what is to appear at c.Options.Path.
func Create(p *driver.Plan, c *WriteConfig) (*Writer, error) {
	w := newWriter(c)
	if err := w.check(p); err != nil {
		return nil, err
	}
	if c.MaxShard > 0 {
		s, err := newShards(w.plan, c)
		if s != nil {
			w.enc, w.files = s, s.paths()
		}
		return w.started(err)
	}
	if err := w.findLayout(); err != nil {
		return nil, err
	}
	if w.layout.Files != nil {
		d, err := newDirEncoder(w.layout, c)
		if err == nil {
			w.enc = d
		}
		return w.started(err)
	}
	w.order()
	f, err := sink.CreateFile(w.path)
	if err != nil {
		return nil, explain(err, w.format, w.path)
	}
	t := sink.NewBuffer(f)
	abort := func() {
		t.Release()
		f.Abort()
	}
	w.end = ending{abort: abort, commit: func() error {
		if err := t.Flush(); err != nil {
			abort()
			return err
		}
		t.Release()
		return f.Commit(!c.Options.NoSync)
	}}
	return w.start(t)
}

// NewWriter starts writing to out: straight through where the format and the plan
// allow it, else after the file was assembled elsewhere.
func NewWriter(out io.Writer, p *driver.Plan, c *WriteConfig) (*Writer, error) {
	w := newWriter(c)
	if err := w.check(p); err != nil {
		return nil, err
	}
	if c.MaxShard > 0 {
		return nil, explain(driver.OptionError(w.format, "MaxShard", "only Create makes several files"), w.format, "")
	}
	if err := w.findLayout(); err != nil {
		return nil, err
	}
	if out == nil {
		return nil, explain(&tensor.Error{Field: "writer", Offset: -1, Err: fs.ErrInvalid}, w.format, "")
	}
	if c.Spool == SpoolNever || w.streams() {
		w.queue = &queue{spool: c.Spool}
		return w.start(sink.NewStream(out))
	}
	w.order()
	if c.Spool == SpoolMemory {
		m := &sink.Memory{}
		w.end = ending{commit: func() error {
			_, err := sink.NewStream(out).WriteAt(m.Bytes(), 0)
			return err
		}}
		return w.start(m)
	}
	s, err := sink.NewSpool()
	if err != nil {
		return nil, explain(err, w.format, "")
	}
	t := sink.NewBuffer(s)
	abort := func() {
		t.Release()
		s.Remove()
	}
	w.end = ending{abort: abort, commit: func() error {
		defer abort()
		if err := t.Flush(); err != nil {
			return err
		}
		r, err := s.Reader()
		if err == nil {
			_, err = io.Copy(out, r)
		}
		return err
	}}
	return w.start(t)
}

func newWriter(c *WriteConfig) *Writer {
	return &Writer{format: c.Driver.Describe().Name, path: c.Options.Path, cfg: c}
}

// Files returns the paths of the files that are written, the one that opens the model
// first. It is nil for a writer without a path.
func (w *Writer) Files() []string {
	if w.files == nil && w.path != "" {
		return []string{w.path}
	}
	return w.files
}

// streams reports whether the file can be written from front to back.
func (w *Writer) streams() bool {
	return w.layout.Streams || w.layout.Encode == nil && w.layout.Late == nil
}

// order has early tensors wait for a driver that takes them in one order only.
func (w *Writer) order() {
	if !w.layout.Ordered {
		return
	}
	w.queue = &queue{}
	if w.layout.Secret || w.cfg.Spool == SpoolMemory {
		w.queue.spool = SpoolMemory
	}
}

// check completes the plan, without what the caller lets go.
func (w *Writer) check(p *driver.Plan) (err error) {
	if w.plan, w.index, err = completed(p, w.cfg.Driver); err == nil {
		w.plan, err = driver.Fit(w.cfg.Driver, w.plan, &w.cfg.Options, w.cfg.Accept)
	}
	return explain(err, w.format, w.path)
}

// findLayout asks the driver how the plan is written.
func (w *Writer) findLayout() error {
	d, ok := w.cfg.Driver.(driver.Layouter)
	err := fmt.Errorf("%w: the format cannot be written", driver.ErrUnsupported)
	if ok {
		if w.layout, err = d.Layout(w.plan, &w.cfg.Options); err == nil && w.layout == nil {
			err = fmt.Errorf("%w: the driver made no layout", driver.ErrPlan)
		}
	}
	return explain(err, w.format, w.path)
}

// start writes what is known before the data.
func (w *Writer) start(t driver.Target) (*Writer, error) {
	finished := false
	defer w.orGiveUp(&finished)
	var err error
	if w.layout.Encode != nil {
		var enc driver.Encoder
		if enc, err = w.layout.Encode(t); err == nil && enc == nil {
			err = fmt.Errorf("%w: the driver made no encoder", driver.ErrPlan)
		}
		if err == nil {
			w.enc = enc
		}
	} else {
		var e *layoutEncoder
		if e, err = newLayoutEncoder(t, w.plan, w.layout); err == nil {
			w.enc = e
			w.queue.setOrder(e.order)
		}
	}
	finished = true
	return w.started(err)
}

// started completes or undoes the start.
func (w *Writer) started(err error) (*Writer, error) {
	if err == nil {
		err = w.cfg.Options.Context.Err()
	}
	if err != nil {
		w.giveUp(err)
		return nil, explain(err, w.format, w.path)
	}
	w.written = make([]bool, len(w.plan.Tensors))
	w.in = sink.NewInput(w.cfg.Options.Context, nil, 0, w.moved)
	for _, t := range w.plan.Tensors {
		w.total += t.Size
	}
	return w, nil
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
		return planError(w.format, name, fmt.Errorf("%w in the plan", tensor.ErrNotFound))
	}
	if w.written[i] {
		return planError(w.format, name, fmt.Errorf("already written"))
	}
	finished := false
	defer w.orGiveUp(&finished)
	err := w.take(i, r)
	finished = true
	if err != nil {
		err = &tensor.Error{Format: w.format, Path: w.path, Field: tensorField(name), Offset: -1, Err: err}
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
	return w.index.find(name)
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
	if err := w.cfg.Options.Context.Err(); err != nil {
		return err
	}
	in := w.in
	w.at = w.plan.Tensors[i].Name
	in.Next(r, w.plan.Tensors[i].Size)
	defer in.Next(nil, 0)
	if !w.queue.isNext(i) {
		if err := w.queue.keep(i, in); err != nil {
			return err
		}
		return in.Finish()
	}
	if err := w.enc.Tensor(i, in); err != nil {
		return err
	}
	if err := in.Finish(); err != nil {
		return err
	}
	for {
		k, r := w.queue.next()
		if k < 0 {
			return nil
		}
		in := sink.NewInput(w.cfg.Options.Context, r, w.plan.Tensors[k].Size, nil)
		if err := w.enc.Tensor(k, in); err != nil {
			return err
		}
		if err := in.Finish(); err != nil {
			return err
		}
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
		return planError(w.format, to.Name, fmt.Errorf("%w: the plan has %s, the model %s", tensor.ErrDType, to.TypeName(), from.TypeName()))
	case to.Quant != nil && from.Quant != nil && !to.Quant.Equal(from.Quant):
		return planError(w.format, to.Name, fmt.Errorf("%w: the plan has others than the model", tensor.ErrQuantization))
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
	defer w.orGiveUp(&finished)
	err := w.complete()
	finished = true
	if err != nil {
		err = explain(err, w.format, w.path)
		w.giveUp(err)
		return err
	}
	w.over = io.EOF
	return nil
}

func (w *Writer) complete() error {
	if err := w.cfg.Options.Context.Err(); err != nil {
		return err
	}
	for i, ok := range w.written {
		if !ok {
			return planError(w.format, w.plan.Tensors[i].Name, fmt.Errorf("not written before Close"))
		}
	}
	err := w.enc.Finish()
	// One with other files learns first what became of this one.
	committing := w.layout != nil && w.layout.Committed != nil
	if err == nil && !committing {
		err = w.release()
	}
	if err == nil && w.end.commit != nil {
		// A commit that fails cleans up after itself.
		commit := w.end.commit
		w.end.abort = nil
		err = commit()
	}
	if committing && (err == nil || errors.Is(err, driver.ErrNotDurable)) {
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

// orGiveUp is deferred around what calls functions of the program: a reader, which panics with
// a memory fault that View.Use will catch, a signer, Progress. A panic must not leave a writer
// that seems to work.
func (w *Writer) orGiveUp(finished *bool) {
	if !*finished {
		w.giveUp(errPanicked)
	}
}

var errPanicked = errors.New("a function of the program panicked")

// giveUp removes what was written and remembers why.
func (w *Writer) giveUp(err error) {
	w.over = err
	_ = w.release()
	if w.end.abort != nil {
		w.end.abort()
		w.end.abort = nil
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
	cause := fmt.Errorf("%w: closed", driver.ErrAborted)
	if w.over != io.EOF {
		cause = fmt.Errorf("%w: %w", driver.ErrAborted, w.over)
	}
	return &tensor.Error{Format: w.format, Path: w.path, Offset: -1, Err: cause}
}
