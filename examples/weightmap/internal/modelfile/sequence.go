package modelfile

import (
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// sequence reads the bytes of a tensor from first to last. Those that are compressed are decoded
// meanwhile, and never whole in memory.
type sequence struct {
	io.Reader
	own *decoding // nil if nothing is decoded, or data.section is
}

// Close ends decoding.
func (q *sequence) Close() {
	if q.own != nil {
		q.own.stop()
	}
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

// mostRestarts is how often a section is decompressed. Two are what models need whose tensors have
// the same order, for bytes and values; one in another order is held in memory.
const mostRestarts = 4

// Sequence starts reading a tensor. The caller must close it before it reads another one of the
// model.
func (d *TensorReader) Sequence(v tensor.View) (*sequence, error) {
	s := streams(v)
	if s == nil {
		return d.whole(v)
	}
	info := v.Info()
	at, isPart := s.Section(&info)
	if !isPart {
		own := decode(func(w io.Writer) error { return s.Stream(d.Ctx, &info, w) })
		return &sequence{own, own}, nil
	}
	if d.section == nil || d.section.read > at {
		if d.restarts == mostRestarts {
			return d.whole(v)
		}
		d.restarts++
		d.Close()
		d.section = decode(func(w io.Writer) error { return s.StreamSection(d.Ctx, &info, w) })
	}
	_, err := io.CopyN(io.Discard, d.section, at-d.section.read)
	return &sequence{Reader: io.LimitReader(d.section, info.Size)}, err
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

// decoding is data that is decoded while it is read.
type decoding struct {
	pipe *io.PipeReader
	read int64
	done chan struct{} // stream has returned
}

// decode starts to read what stream writes.
func decode(stream func(io.Writer) error) *decoding {
	r, w := io.Pipe()
	d := &decoding{pipe: r, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		w.CloseWithError(stream(w)) // nil is io.EOF
	}()
	return d
}

// Read implements io.Reader.
func (d *decoding) Read(p []byte) (int, error) {
	n, err := d.pipe.Read(p)
	d.read += int64(n)
	return n, err
}

func (d *decoding) stop() {
	d.pipe.Close()
	<-d.done
}
