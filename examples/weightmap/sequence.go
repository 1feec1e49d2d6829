package main

import (
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// sequence reads the bytes of a tensor from first to last. Those that are compressed are decoded meanwhile, and never whole
// in memory.
type sequence struct {
	io.Reader
	pipe *io.PipeReader // nil if nothing is decoded
	done chan struct{}  // decoding has ended
}

// streams returns the owner of a tensor if it decodes it piece by piece, or nil.
func streams(v tensor.View) memory.Streamer[tensor.Info] {
	r := (*memory.Ref[tensor.Info])(&v)
	s, ok := r.Owner().(memory.Streamer[tensor.Info])
	if !ok || r.Info() == nil || r.Data() != nil || r.Info().Offset >= 0 || !s.Streams(r.Info()) {
		return nil
	}
	return s
}

// sequence starts reading a tensor. The caller must close it.
func (d *data) sequence(v tensor.View) (*sequence, error) {
	s := streams(v)
	if s == nil {
		v, err := d.Tensor(v)
		return &sequence{Reader: io.NewSectionReader(v, 0, v.Info().Size)}, err
	}
	r, w := io.Pipe()
	q := &sequence{Reader: r, pipe: r, done: make(chan struct{})}
	info := v.Info()
	go func() {
		defer close(q.done)
		err := s.Stream(d.ctx, &info, w)
		w.CloseWithError(err) // nil is io.EOF
	}()
	return q, nil
}

// close ends decoding.
func (q *sequence) close() {
	if q.pipe != nil {
		q.pipe.Close()
		<-q.done
	}
}
