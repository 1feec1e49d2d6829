package modelfile

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// sequence reads the bytes of a tensor from first to last. Those that are compressed are decoded
// meanwhile, and are never whole in memory.
type sequence struct {
	io.Reader
	own *decoding // what Close ends, or nil
}

// Close ends decoding.
func (q *sequence) Close() {
	if q.own != nil {
		q.own.stop()
	}
}

// mostRestarts is how often tensors that are compressed together are decompressed. Two are what
// models need whose tensors have the same order, for bytes and values; a tensor in another order is
// held in memory.
const mostRestarts = 4

// decodes reports whether a tensor is compressed, so that Sequence decodes it piece by piece.
func decodes(v tensor.View) bool {
	info := v.Info()
	return info.Compression != "" && info.Offset < 0
}

// Sequence starts reading a tensor. The caller must close it before it reads another one of the
// model.
func (d *TensorReader) Sequence(v tensor.View) (*sequence, error) {
	if !decodes(v) {
		return d.whole(v)
	}
	info := v.Info()
	if info.Stored >= 0 {
		own := decode(d.Ctx, d.m, []string{info.Name})
		return &sequence{own, own}, own.find(info.Name)
	}
	if d.section == nil || d.section.passed[info.Name] {
		if d.restarts == mostRestarts {
			return d.whole(v)
		}
		d.restarts++
		d.Close()
		d.section = decode(d.Ctx, d.m, compressedTogether(d.m))
	}
	return &sequence{Reader: d.section}, d.section.find(info.Name)
}

// compressedTogether returns the names of the tensors that are not compressed alone.
func compressedTogether(m *format.Model) []string {
	var names []string
	for name, v := range m.Tensors() {
		if decodes(v) && v.Info().Stored < 0 {
			names = append(names, name)
		}
	}
	return names
}

// whole reads a tensor that is in memory.
func (d *TensorReader) whole(v tensor.View) (*sequence, error) {
	v, err := d.Tensor(v)
	return &sequence{Reader: io.NewSectionReader(v, 0, v.Info().Size)}, err
}

// Close ends decoding. Call it before the model is closed.
func (d *TensorReader) Close() {
	if d.section != nil {
		d.section.stop()
		d.section = nil
	}
}

// decoding is tensors that are decoded one after the other, as they are read.
type decoding struct {
	names  []string
	next   func() (format.Piece, error, bool)
	stop   func()
	passed map[string]bool // decoding has begun, or they were skipped

	rest []byte // of the last piece
	last bool   // no other piece of its tensor follows
}

// errStopped ends a stream.
var errStopped = errors.New("stopped")

// decode starts to decode tensors of a model.
func decode(ctx context.Context, m *format.Model, names []string) *decoding {
	requests := make([]format.Request, len(names))
	for i, name := range names {
		requests[i].Tensor = name
	}
	d := &decoding{names: names, passed: map[string]bool{}}
	d.next, d.stop = iter.Pull2(func(yield func(format.Piece, error) bool) {
		err := m.Stream(ctx, requests, nil, func(p format.Piece) error {
			if !yield(p, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(format.Piece{}, err)
		}
	})
	return d
}

// find skips the tensors before one. It decodes the beginning of that one.
func (d *decoding) find(name string) error {
	for {
		p, err, ok := d.next()
		if err != nil {
			return err
		}
		if !ok {
			return io.ErrUnexpectedEOF
		}
		d.rest = p.Data
		d.last = p.Last
		d.passed[d.names[p.Request]] = true
		if d.names[p.Request] == name {
			return nil
		}
	}
}

// Read implements io.Reader for the tensor that was found.
func (d *decoding) Read(b []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.last {
			return 0, io.EOF
		}
		p, err, ok := d.next()
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, io.ErrUnexpectedEOF
		}
		d.rest = p.Data
		d.last = p.Last
	}
	n := copy(b, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
