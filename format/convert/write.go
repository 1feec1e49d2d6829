package convert

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/tensor"
)

// writing is the target that is being written.
type writing struct {
	j        *job
	target   *format.Writer // nil before create
	streams  *streams
	taken    int64    // bytes written so far
	suffered []string // the tensors that lost more than usual, and how
}

func newWriting(j *job) *writing { return &writing{j: j, streams: newStreams(j, j.read)} }

// create starts the target. It first lets the format store names and parameters that it has no
// field for. With Lossy it then accepts the remaining losses one by one, so that each is reported.
func (w *writing) create() error {
	j := w.j
	opts := j.target
	opts.AcceptLoss = j.accepted()
	opts.Progress = w.progress
	lost := map[schema.Loss]bool{} // also with KeepNames
	items := j.plan.byName()
	// A part is never the model, and integers that this conversion made are useless without
	// parameters.
	useless := func(l schema.Loss) bool {
		it := items[l.Name]
		return l.Kind == schema.LossPart || l.Kind == schema.LossQuantization && it != nil && it.z != nil
	}
	for {
		target, err := j.open(&opts)
		refused := lossesIn(err)
		switch {
		case refused == nil || !j.o.Lossy && opts.KeepNames:
			j.report.Kept = slices.DeleteFunc(j.report.Kept, func(l schema.Loss) bool { return lost[l] })
			w.target = target
			return err
		case !opts.KeepNames:
			opts.KeepNames = true
			j.report.Kept = refused
			continue
		}
		if slices.ContainsFunc(refused, func(l schema.Loss) bool {
			return !l.Acceptable || lost[l] ||
				useless(l)
		}) {
			return err
		}
		// Leaving these out may cause further losses, which the next attempt reports.
		for _, l := range refused {
			lost[l] = true
			opts.AcceptLoss = append(opts.AcceptLoss, l.Item())
		}
		j.report.Losses = append(j.report.Losses, refused...)
	}
}

// accepted returns the losses to accept: those of Write, but for the parameters of tensors that
// this conversion quantizes. The integers would mean nothing.
func (j *job) accepted() []string {
	const one = string(schema.LossQuantization) + ":"
	items := j.plan.byName()
	var list []string
	for _, s := range j.target.AcceptLoss {
		name, isOne := strings.CutPrefix(s, one)
		it := items[name]
		switch {
		case s == string(schema.LossQuantization):
			for _, it := range j.plan.items {
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
		return format.NewWriter(j.out, j.plan.schema, o)
	}
	return format.Create(j.path, j.plan.schema, o)
}

// lossesIn returns the losses that an error lists.
func lossesIn(err error) []schema.Loss {
	var refused *schema.LossError
	if errors.As(err, &refused) {
		return refused.Losses
	}
	return nil
}

// run writes all tensors.
func (w *writing) run() error {
	for i, it := range w.j.plan.items {
		w.streams.begin(i)
		err := w.tensor(it)
		if err != nil {
			return err
		}
	}
	err := w.target.Close()
	if err != nil {
		return err
	}
	warnings := warning(w.suffered)
	if warnings != "" {
		w.j.report.Warnings = append(w.j.report.Warnings, warnings)
	}
	if w.j.target.MaxShard > 0 {
		w.j.report.Files = w.target.Files()
	}
	return nil
}

// abort ends the conversion of tensors, and removes what is written unless run succeeded.
func (w *writing) abort() {
	w.streams.close()
	if w.target != nil {
		w.target.Abort()
	}
}

// tensor writes one tensor.
func (w *writing) tensor(it *item) error {
	if it.changes {
		return w.changed(it)
	}
	v, err := w.j.read.Tensor(it.from)
	if err != nil {
		return err
	}
	if !v.ZeroCopy() {
		// Loading it would take the memory of the whole tensor.
		return w.copy(it, io.NewSectionReader(v, 0, v.Info().Size))
	}
	return target.ReadView(v, func(r io.Reader) error { return w.copy(it, r) })
}

// changed writes a tensor that is converted, and reports what it lost.
func (w *writing) changed(it *item) error {
	s := it.stream
	it.stream = nil
	err := w.copy(it, s)
	if err != nil {
		return err
	}
	// The writer may stop before the end.
	_, err = io.Copy(io.Discard, s)
	if err != nil {
		return err
	}
	if s.tally.lost > 0 {
		w.j.accept(overflow(it, s.tally.lost))
	}
	stats := tensor.QuantStats{SNR: math.Inf(1), Nonzero: s.tally.nonzero, Zeroed: s.tally.zeroed,
		ZeroRows: s.tally.rows.Count}
	if it.z != nil {
		stats = it.z.Stats()
		w.j.report.Quantized = append(w.j.report.Quantized, Stats{it.to.Name, stats})
	}
	why := suffered(stats)
	if why != "" {
		w.suffered = append(w.suffered, fmt.Sprintf("%q %s", it.to.Name, why))
	}
	return nil
}

// copy writes the data of r.
func (w *writing) copy(it *item, r io.Reader) error {
	if !w.j.o.Verify {
		return w.target.WriteTensor(it.to.Name, r)
	}
	h := xxhash.New()
	err := w.target.WriteTensor(it.to.Name, io.TeeReader(r, h))
	it.sum = h.Sum64()
	return err
}

// progress receives the writer's progress and passes it on.
func (w *writing) progress(done, total int64, tensor string) {
	w.j.read.Used(done - w.taken)
	w.taken = done
	if w.j.target.Progress != nil {
		w.j.target.Progress(done, total, tensor)
	}
}
