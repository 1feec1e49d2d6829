package formattest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// old is what stands at the path that a failing writer was to replace.
var old = []byte("the old file")

// attempt begins to replace a file and lets f go wrong. Afterwards the old file
// must be there as it was, and nothing else.
func (x *subject) attempt(t *testing.T, name string, c codec, o *format.WriteOptions, f func(t *testing.T, w *format.Writer)) {
	t.Run(name, func(t *testing.T) {
		path := x.stored(t, old)
		w, err := c.Create(path, x.s.Plan, o)
		if err != nil {
			t.Fatalf("Create: %v", err)
		}
		f(t, w)
		if err := w.Abort(); err != nil {
			t.Errorf("Abort in the end: %v", err)
		}
		x.untouched(t, path)
	})
}

// untouched looks at what is left of a failed writer.
func (x *subject) untouched(t *testing.T, path string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, old) {
		t.Errorf("the old file did not survive: %d bytes, %v", len(b), err)
	}
	if left := listing(t, filepath.Dir(path), filepath.Base(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// over demands that a writer that failed has given up.
func over(t *testing.T, w *format.Writer, name string) {
	t.Helper()
	if err := w.WriteTensor(name, bytes.NewReader(nil)); !errors.Is(err, format.ErrAborted) {
		t.Errorf("WriteTensor after the failure = %v, want ErrAborted", err)
	}
	if err := w.Close(); !errors.Is(err, format.ErrAborted) {
		t.Errorf("Close after the failure = %v, want ErrAborted", err)
	}
}

// writerErrors: data of the wrong size, failing readers and cancellation leave
// the old file as it was.
func (x *subject) writerErrors(t *testing.T) {
	big, ok := x.largest()
	if !ok {
		t.Skip("takes a tensor with bytes")
	}
	data := x.data[big.Name]
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	broken := errors.New("broken reader")
	for _, c := range []struct {
		name string
		r    io.Reader
		ctx  context.Context
		want error // nil means any
	}{
		{name: "short", r: bytes.NewReader(data[:len(data)-1])},
		{name: "short stream", r: iotest.OneByteReader(bytes.NewReader(data[:len(data)-1]))},
		{name: "empty", r: bytes.NewReader(nil)},
		{name: "long", r: bytes.NewReader(append(slices.Clone(data), 0))},
		{name: "long stream", r: iotest.HalfReader(bytes.NewReader(append(slices.Clone(data), 0)))},
		{name: "error at once", r: iotest.ErrReader(broken), want: broken},
		{name: "error half way", r: io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)), want: broken},
		{name: "error at the end", r: io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), want: broken},
		{name: "canceled half way", r: &canceling{bytes.NewReader(data), len(data) / 2, cancel}, ctx: ctx, want: context.Canceled},
	} {
		o := x.options(func(o *format.WriteOptions) { o.Context = c.ctx })
		x.attempt(t, c.name, x.writer, o, func(t *testing.T, w *format.Writer) {
			err := w.WriteTensor(big.Name, c.r)
			if err == nil && c.ctx != nil {
				err = w.Close() // it may have been canceled with the last byte
			}
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("WriteTensor = %v, want %v", err, c.want)
			}
			over(t, w, big.Name)
		})
	}
}

// canceling delivers in small pieces and cancels after some bytes.
type canceling struct {
	r      io.Reader
	after  int
	cancel func()
}

func (c *canceling) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(len(p), 16)])
	if c.after -= n; c.after <= 0 {
		c.cancel()
	}
	return n, err
}

// writerMisuse: calls out of place are refused and harm nothing.
func (x *subject) writerMisuse(t *testing.T) {
	feedAll := func(t *testing.T, w *format.Writer) { x.feed(t, w, x.s.Plan, nil) }
	x.attempt(t, "abort", x.writer, x.options(nil), func(t *testing.T, w *format.Writer) {
		feedAll(t, w)
		for range 2 {
			if err := w.Abort(); err != nil {
				t.Errorf("Abort: %v", err)
			}
		}
		over(t, w, "x")
	})
	ctx, cancel := context.WithCancel(context.Background())
	x.attempt(t, "canceled before Close", x.writer, x.options(func(o *format.WriteOptions) { o.Context = ctx }), func(t *testing.T, w *format.Writer) {
		feedAll(t, w)
		cancel()
		if err := w.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("Close = %v, want context.Canceled", err)
		}
	})
	if _, err := x.writer.NewWriter(io.Discard, x.s.Plan, x.options(func(o *format.WriteOptions) { o.Context = ctx })); !errors.Is(err, context.Canceled) {
		t.Errorf("NewWriter with a canceled context = %v", err)
	}
	if len(x.s.Plan.Tensors) > 0 {
		x.attempt(t, "missing tensor", x.writer, x.options(nil), func(t *testing.T, w *format.Writer) {
			x.feed(t, w, x.s.Plan, names(x.s.Plan)[1:])
			if err := w.Close(); !errors.Is(err, format.ErrPlan) {
				t.Errorf("Close = %v, want ErrPlan", err)
			}
		})
	}
	x.refusals(t)
	x.badPlans(t)
}

// refusals: a name that is not in the plan, or comes again, is refused, and
// the writer goes on. Progress is reported meanwhile.
func (x *subject) refusals(t *testing.T) {
	var out bytes.Buffer
	var w *format.Writer
	checkProgress(t, func(p format.Progress) error {
		var err error
		w, err = x.writer.NewWriter(&out, x.s.Plan, x.options(func(o *format.WriteOptions) { o.Progress = p }))
		if err != nil {
			return err
		}
		refused := func(name string) {
			if err := w.WriteTensor(name, bytes.NewReader(nil)); !errors.Is(err, format.ErrPlan) {
				t.Errorf("WriteTensor(%q) = %v, want ErrPlan", name, err)
			}
		}
		refused("no such tensor")
		for _, p := range x.s.Plan.Tensors {
			if err := w.WriteTensor(p.Name, bytes.NewReader(x.data[p.Name])); err != nil {
				return err
			}
			refused(p.Name)
		}
		return w.Close()
	}, true)
	x.same(t, "written between refusals", out.Bytes())
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort after Close: %v", err)
	}
	if err := w.WriteTensor("x", bytes.NewReader(nil)); !errors.Is(err, format.ErrAborted) {
		t.Errorf("WriteTensor after Close = %v, want ErrAborted", err)
	}
}

// badPlans: what no format can hold is refused before a byte is written.
func (x *subject) badPlans(t *testing.T) {
	good := tensor.Info{Name: "0", DType: tensor.Float32, Shape: tensor.Shape{2}}
	with := func(change func(*tensor.Info)) []tensor.Info {
		bad := good
		change(&bad)
		return []tensor.Info{bad}
	}
	for name, tensors := range map[string][]tensor.Info{
		"empty name":    with(func(t *tensor.Info) { t.Name = "" }),
		"NUL name":      with(func(t *tensor.Info) { t.Name = "a\x00b" }),
		"invalid UTF-8": with(func(t *tensor.Info) { t.Name = "\xff" }),
		"invalid dtype": with(func(t *tensor.Info) { t.DType = tensor.Invalid }),
		"unknown dtype": with(func(t *tensor.Info) { t.DType = 200 }),
		"negative dim":  with(func(t *tensor.Info) { t.Shape = tensor.Shape{2, -1} }),
		"overflow":      with(func(t *tensor.Info) { t.Shape = tensor.Shape{1 << 31, 1 << 31, 2} }),
		"twice":         {good, good},
	} {
		path := x.stored(t, old)
		w, err := x.writer.Create(path, &format.Plan{Tensors: tensors}, x.options(nil))
		if err == nil {
			w.Abort()
		}
		if !errors.Is(err, format.ErrPlan) {
			t.Errorf("a plan with %s: %v, want ErrPlan", name, err)
		}
		x.untouched(t, path)
	}
}

// diskErrors: a write that fails, whichever it is, fails the writer.
func (x *subject) diskErrors(t *testing.T) {
	x.brokenTarget(t)
	for n := 0; n < len(x.file); n += max(1, len(x.file)/5) {
		if err := x.writeTo(&brokenPipe{left: n}); !errors.Is(err, errDisk) {
			t.Errorf("an io.Writer that takes %d bytes of %d: the writer says %v", n, len(x.file), err)
		}
	}
	if len(x.file) > 1 {
		if err := x.writeTo(&brokenPipe{left: len(x.file) - 1}); !errors.Is(err, errDisk) {
			t.Errorf("an io.Writer that fails at the last byte: the writer says %v", err)
		}
	}
}

// brokenTarget has one operation of an Encoder after the other fail.
func (x *subject) brokenTarget(t *testing.T) {
	for n := 0; ; n++ {
		left := n
		c := codec{Codec: format.With(fragileDriver{x.writer.Driver(), &left})}
		path := x.stored(t, old)
		err := x.writeFile(c, path)
		if left >= 0 {
			// Every operation went through.
			if err != nil {
				t.Errorf("without a failure: %v", err)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("write %d fails: the writer says %v", n, err)
		}
		x.untouched(t, path)
		if t.Failed() {
			return
		}
		if n > 40 {
			n += n / 4
		}
	}
}

// fragileDriver writes as another driver does, on a disk that fails.
type fragileDriver struct {
	driver.Driver
	left *int
}

// Layout implements driver.Layouter.
func (d fragileDriver) Layout(p *driver.Plan, o *driver.WriteOptions) (*driver.Layout, error) {
	l, err := d.Driver.(driver.Layouter).Layout(p, o)
	if err == nil && l.Encode != nil {
		encode := l.Encode
		l.Encode = func(t driver.Target) (driver.Encoder, error) { return encode(&fragile{t, d.left}) }
	}
	return l, err
}

// writeFile writes the sample to path and returns the first error.
func (x *subject) writeFile(c codec, path string) error {
	w, err := c.Create(path, x.s.Plan, x.options(nil))
	if err != nil {
		return err
	}
	return x.finish(w)
}

// writeTo writes the sample to an io.Writer and returns the first error.
func (x *subject) writeTo(out io.Writer) error {
	w, err := x.writer.NewWriter(out, x.s.Plan, x.options(nil))
	if err != nil {
		return err
	}
	return x.finish(w)
}

func (x *subject) finish(w *format.Writer) error {
	defer w.Abort()
	for _, p := range x.s.Plan.Tensors {
		if err := w.WriteTensor(p.Name, bytes.NewReader(x.data[p.Name])); err != nil {
			return err
		}
	}
	return w.Close()
}

// fragile is a target whose disk fails after some operations.
type fragile struct {
	driver.Target
	left *int
}

func (f *fragile) fails() bool { *f.left--; return *f.left < 0 }

func (f *fragile) WriteAt(p []byte, off int64) (int, error) {
	if f.fails() {
		n, _ := f.Target.WriteAt(p[:len(p)/2], off)
		return n, errDisk
	}
	return f.Target.WriteAt(p, off)
}

func (f *fragile) ReadAt(p []byte, off int64) (int, error) {
	if f.fails() {
		return 0, errDisk
	}
	return f.Target.ReadAt(p, off)
}

func (f *fragile) Truncate(size int64) error {
	if f.fails() {
		return errDisk
	}
	return f.Target.Truncate(size)
}

// brokenPipe is an io.Writer that takes some bytes.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if len(p) > b.left {
		n := b.left
		b.left = 0
		return n, errDisk
	}
	b.left -= len(p)
	return len(p), nil
}
