package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/internal/target"
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
// may be the model's own: the model stays valid until it is closed. A path that is one of several files of a model, m or
// another, is ErrSchema, since that model would be broken. So is a model that is a part of another (Model.Part), unless
// AcceptLoss has "part".
//
// If Model fails, it writes nothing, except after ErrNotDurable and when Verify fails or is canceled:
// then the target stays. Errors wrap schema.LossError, the errors of reading and writing,
// ErrQuantization for numbers that cannot be quantized, ErrUnsupported for numbers that a narrower
// dtype would make infinite, ErrSignature for a signature that the key in the source did not make, ErrChecksum from
// Verify, or the context's error.
func Model(ctx context.Context, m *format.Model, path string, o *Options) (*Report, error) {
	j, err := newJob(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return j.checked(m)
}

// Write writes an open model to w, in the format of Options.Write, as format.NewWriter does. It does not support Verify, which reads
// a file. Errors are those of Model.
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
	j.read = readonce.New(m)
	if err := j.run(m); err != nil {
		return nil, err
	}
	return j.report, nil
}

// run converts a model.
func (j *job) run(m *format.Model) error {
	if err := j.plan(m); err != nil {
		return err
	}
	w, err := j.create()
	if err != nil {
		return err
	}
	defer w.Abort()
	if j.o.DryRun {
		return nil
	}
	defer func() {
		close(j.stop)
		j.running.Wait()
	}()
	for i, it := range j.items {
		j.begin(i)
		if err := j.write(w, it); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	j.warn()
	if j.target.MaxShard > 0 {
		j.report.Files = w.Files()
	}
	if j.o.Verify {
		return j.verify()
	}
	return nil
}

// job is a running conversion.
type job struct {
	ctx      context.Context
	o        Options
	target   format.WriteOptions // with a Format
	driver   driver.Driver
	format   string // the name of the target's
	path     string
	out      io.Writer // where to write, nil for the path
	to       *schema.Schema
	items    []*item
	report   *Report
	uses     uses  // how nodes use tensors
	gaps     []gap // nodes without an operator in the target
	read     *readonce.Reader
	workers  int      // tensors converted concurrently
	taken    int64    // bytes written so far
	begun    int      // index of the first item not yet started
	suffered []string // the tensors that lost more than usual, and how
	running  sync.WaitGroup
	stop     chan struct{}
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

// create starts the target. It first lets the format store names and parameters that it has no field
// for. With Lossy it then accepts the remaining losses one by one, so that each is reported.
func (j *job) create() (*format.Writer, error) {
	opts := j.target
	opts.AcceptLoss = j.accepted()
	opts.Progress = j.progress
	lost := map[schema.Loss]bool{} // also with KeepNames
	items := j.byName()
	// A part is never the model, and integers that this conversion made are useless without parameters.
	useless := func(l schema.Loss) bool {
		it := items[l.Name]
		return l.Kind == schema.LossPart || l.Kind == schema.LossQuantization && it != nil && it.z != nil
	}
	for {
		w, err := j.open(&opts)
		refused := lossesIn(err)
		switch {
		case refused == nil || !j.o.Lossy && opts.KeepNames:
			j.report.Kept = slices.DeleteFunc(j.report.Kept, func(l schema.Loss) bool { return lost[l] })
			return w, err
		case !opts.KeepNames:
			opts.KeepNames, j.report.Kept = true, refused
			continue
		}
		if slices.ContainsFunc(refused, func(l schema.Loss) bool { return !l.Acceptable || lost[l] || useless(l) }) {
			return nil, err
		}
		// Leaving these out may cause further losses, which the next attempt reports.
		for _, l := range refused {
			lost[l] = true
			opts.AcceptLoss = append(opts.AcceptLoss, l.Item())
		}
		j.report.Losses = append(j.report.Losses, refused...)
	}
}

// accepted returns the losses to accept: those of Write, but for the parameters of tensors that this conversion quantizes. The
// integers would mean nothing.
func (j *job) accepted() []string {
	const one = string(schema.LossQuantization) + ":"
	items := j.byName()
	var list []string
	for _, s := range j.target.AcceptLoss {
		name, isOne := strings.CutPrefix(s, one)
		it := items[name]
		switch {
		case s == string(schema.LossQuantization):
			for _, it := range j.items {
				if it.z == nil {
					list = append(list, one+it.to.Name)
				}
			}
		case isOne && it != nil && it.z != nil:
		default:
			list = append(list, s)
		}
	}
	return list
}

// open starts the target.
func (j *job) open(o *format.WriteOptions) (*format.Writer, error) {
	if j.out != nil {
		return format.NewWriter(j.out, j.to, o)
	}
	return format.Create(j.path, j.to, o)
}

// byName returns the items by their names in the target.
func (j *job) byName() map[string]*item {
	items := make(map[string]*item, len(j.items))
	for _, it := range j.items {
		items[it.to.Name] = it
	}
	return items
}

// lossesIn returns the losses that an error lists.
func lossesIn(err error) []schema.Loss {
	var refused *schema.LossError
	if errors.As(err, &refused) {
		return refused.Losses
	}
	return nil
}

// write writes one tensor.
func (j *job) write(w *format.Writer, it *item) error {
	if it.changes {
		if err := j.copy(w, it, it.stream); err != nil {
			return err
		}
		// The writer may stop before the end.
		if _, err := io.Copy(io.Discard, it.stream); err != nil {
			return err
		}
		if it.stream.lost > 0 {
			j.accept(overflow(it, it.stream.lost))
		}
		stats := tensor.QuantStats{SNR: math.Inf(1), Nonzero: it.stream.nonzero, Zeroed: it.stream.zeroed, ZeroRows: it.stream.rows.Count}
		if it.z != nil {
			stats = it.z.Stats()
			j.report.Quantized = append(j.report.Quantized, Stats{it.to.Name, stats})
		}
		if why := suffered(stats); why != "" {
			j.suffered = append(j.suffered, fmt.Sprintf("%q %s", it.to.Name, why))
		}
		it.stream = nil
		return nil
	}
	v, err := j.read.Tensor(it.from)
	if err != nil {
		return err
	}
	if !v.ZeroCopy() {
		// Loading it would take the memory of the whole tensor.
		return j.copy(w, it, io.NewSectionReader(v, 0, v.Info().Size))
	}
	return target.ReadView(v, func(r io.Reader) error { return j.copy(w, it, r) })
}

// copy writes the data of r.
func (j *job) copy(w *format.Writer, it *item, r io.Reader) error {
	if !j.o.Verify {
		return w.WriteTensor(it.to.Name, r)
	}
	h := xxhash.New()
	err := w.WriteTensor(it.to.Name, io.TeeReader(r, h))
	it.sum = h.Sum64()
	return err
}

// progress receives the writer's progress and passes it on.
func (j *job) progress(done, total int64, tensor string) {
	j.read.Used(done - j.taken)
	j.taken = done
	if j.target.Progress != nil {
		j.target.Progress(done, total, tensor)
	}
}
