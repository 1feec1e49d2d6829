package format

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Writer writes one model. Call WriteTensor for each tensor of the schema, then Close. Abort after
// Close does nothing, so it can be deferred.
//
// A Writer is safe for concurrent use, but its calls wait for each other. A reader of WriteTensor,
// or WriteOptions.Progress, must therefore not call the Writer; it may cancel the context.
type Writer struct {
	driver driver.Driver
	path   string        // "" for an io.Writer
	o      *WriteOptions // validated
	lay    *driver.LayoutOptions
	format string
	layout *driver.Layout  // nil for shards
	enc    driver.Encoder  // nil once released
	paths  func() []string // being written, nil without a path
	commit func() error    // completes the target after the encoder; nil if that does it
	abort  func()          // removes the target unless it is complete; nil if there is nothing to remove

	mu       sync.Mutex
	schema   *schema.Schema
	index    driver.Index // of the schema, by name
	written  []bool
	next     int          // the tensor behind the last one written
	order    []int        // of the tensors in the file; that of the schema if nothing else is known
	in       target.Input // of the tensor being written
	hashes   bool         // contents is needed
	contents uint64       // a hash of what was written
	progress work.Progress
	over     error // why no further call works; errClosed after a successful Close
}

// layoutOf asks the driver for the layout of a schema.
func (w *Writer) layoutOf(p *schema.Schema) (*driver.Layout, error) {
	d, ok := w.driver.(driver.Writer)
	if !ok {
		return nil, fmt.Errorf("%w: the format cannot be written", tensor.ErrUnsupported)
	}
	return d.Layout(p, w.lay)
}

// start writes everything that precedes the data. inOrder means that the tensors are needed in the
// order of the file.
func (w *Writer) start(t driver.Target, inOrder bool) (err error) {
	if w.enc, err = encoderOf(t, w.schema, w.layout); err != nil {
		return err
	}
	w.order = numbers(len(w.schema.Tensors))
	if e, ok := w.enc.(*target.Encoder); ok {
		w.order = e.Order()
	}
	if !inOrder {
		return nil
	}
	q := &orderedEncoder{Encoder: w.enc, o: w.o, where: w.o.Spool, order: w.order}
	if w.layout.Secret {
		q.where = SpoolMemory
	}
	w.enc = q
	return nil
}

// encoderOf returns the encoder of a layout.
func encoderOf(t driver.Target, p *schema.Schema, l *driver.Layout) (driver.Encoder, error) {
	if l.Encode != nil {
		return l.Encode(t)
	}
	return target.NewEncoder(t, p, l)
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

var (
	errPanicked = errors.New("a function of the program panicked")
	errClosed   = errors.New("closed")
)

// Files returns the paths of the files to be written, first the one that opens the model. The names
// of shards are final once Close has returned. It is nil for NewWriter.
func (w *Writer) Files() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths == nil {
		return nil
	}
	return w.paths()
}

// WriteTensor writes a tensor of the schema: r must have exactly its bytes, little-endian and
// row-major. Tensors may come in any order; in the order of the schema they need no temporary copy.
//
// A name that is not in the schema is ErrNotFound, a tensor that was written before ErrSchema; both
// leave the Writer usable. Any other error aborts it: the temporary file is removed, and every
// later call returns ErrAborted.
func (w *Writer) WriteTensor(name string, r io.Reader) error {
	return w.write(name, r, func(*tensor.Info) error { return nil })
}

// sameType returns an error if a tensor of the schema is of another type than that of a model.
func sameType(to, from *tensor.Info) error {
	switch {
	case to.TypeName() != from.TypeName():
		return fmt.Errorf("%w: the schema has %s, the model %s", tensor.ErrDType, to.TypeName(), from.TypeName())
	case to.Quant != nil && from.Quant != nil && !to.Quant.Equal(from.Quant):
		return fmt.Errorf("%w: the schema has others than the model", tensor.ErrQuantization)
	}
	return nil
}

// write writes a tensor of the schema unless check refuses that.
func (w *Writer) write(name string, r io.Reader, check func(to *tensor.Info) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over != nil {
		return w.refusal()
	}
	i := w.next
	ok := true
	if i == len(w.written) || w.schema.Tensors[i].Name != name {
		i, ok = w.index.Lookup(name)
	}
	switch {
	case !ok:
		return w.schemaError(name, fmt.Errorf("%w in the schema", tensor.ErrNotFound))
	case w.written[i]:
		return w.schemaError(name, errors.New("already written"))
	}
	if err := check(&w.schema.Tensors[i]); err != nil {
		return w.schemaError(name, err)
	}
	return w.attempt(func() error {
		if err := w.take(i, r); err != nil {
			return &tensor.Error{Format: w.format, Path: w.path, Field: tensorField(name), Offset: -1, Err: err}
		}
		w.written[i] = true
		w.next = i + 1
		return nil
	})
}

// take encodes tensor i.
func (w *Writer) take(i int, r io.Reader) error {
	if err := w.o.Context.Err(); err != nil {
		return err
	}
	t := &w.schema.Tensors[i]
	w.in.Reset(w.o.Context, r, t.Name, t.Size)
	if w.hashes {
		w.in.Hash = xxhash.New()
	}
	defer w.in.Reset(w.o.Context, nil, "", 0) // the caller's memory is not kept until the next tensor
	if err := w.enc.Tensor(i, &w.in); err != nil {
		return err
	}
	if err := w.in.Finish(); err != nil {
		return err
	}
	if w.hashes {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], uint64(i))
		binary.LittleEndian.PutUint64(b[8:], w.in.Hash.Sum64())
		w.contents += xxhash.Sum64(b[:]) // in any order of the tensors
	}
	return nil
}

// Close completes the file, syncs it and renames it to its path. If a tensor is missing or anything
// else fails, the old model stays. Only with ErrNotDurable the new one is in place, and if the
// error says that an old index cannot be removed: then a directory still opens the old model.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == errClosed {
		return nil
	}
	if w.over != nil {
		return w.refusal()
	}
	err := w.attempt(func() error { return w.explain(w.finish()) })
	if err != nil {
		return err
	}
	w.over = errClosed
	return nil
}

func (w *Writer) finish() error {
	if err := w.o.Context.Err(); err != nil {
		return err
	}
	if i := slices.Index(w.written, false); i >= 0 {
		return w.schemaError(w.schema.Tensors[i].Name, errors.New("not written before Close"))
	}
	err := w.finishTarget()
	if err != nil && !errors.Is(err, tensor.ErrNotDurable) {
		return err
	}
	w.release()
	return err
}

// finishTarget completes the files.
func (w *Writer) finishTarget() error {
	err := w.enc.Finish()
	if err != nil || w.commit == nil {
		return err
	}
	return w.commit()
}

// Abort removes what was written. The old file stays as it was.
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
	w.release()
}

// release frees what the encoder holds, and the target unless it is committed.
func (w *Writer) release() {
	_ = closeEncoder(w.enc)
	w.enc = nil
	if w.abort != nil {
		w.abort()
		w.abort = nil
	}
}

// refusal returns the error of calls after the end.
func (w *Writer) refusal() error {
	return &tensor.Error{Format: w.format, Path: w.path, Offset: -1, Err: fmt.Errorf("%w: %w", tensor.ErrAborted, w.over)}
}

func (w *Writer) explain(err error) error { return wire.Place(err, w.format, w.path, "") }

// schemaError returns an error about a tensor of the schema.
func (w *Writer) schemaError(name string, err error) error {
	return &tensor.Error{Format: w.format, Field: tensorField(name), Offset: -1, Err: fmt.Errorf("%w: %w", tensor.ErrSchema, err)}
}
