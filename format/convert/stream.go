package convert

import (
	"io"
	"runtime"

	"github.com/weightmap/weightmap/internal/work"
)

// decodedMost is the size up to which tensors that the source decodes are converted concurrently.
const decodedMost = 8 << 20

// workersFor returns the number of tensors to convert concurrently: few, since each takes some
// megabytes, and one if the source decodes large tensors.
func workersFor(items []*item) int {
	for _, it := range items {
		if info := it.from.Info(); info.Offset < 0 && info.Size > decodedMost {
			return 1
		}
	}
	return min(runtime.GOMAXPROCS(0), 4)
}

// stream is the data of a tensor, converted by another goroutine.
type stream struct {
	*item
	*io.PipeReader
	tally // valid once the data has been read
}

// begin starts converting the tensor with index now and those that follow.
func (j *job) begin(now int) {
	for ; j.begun < min(now+2*j.workers-1, len(j.items)); j.begun++ {
		if it := j.items[j.begun]; it.changes {
			it.stream = j.start(it)
		}
	}
}

// start starts converting a tensor.
func (j *job) start(it *item) *stream {
	r, w := io.Pipe()
	s := &stream{item: it, PipeReader: r}
	j.running.Go(func() {
		work.Catch(func() error { return j.convert(s, w) }, func(err error) { _ = w.CloseWithError(err) })
	})
	return s
}

// convert converts a tensor.
func (j *job) convert(s *stream, to io.Writer) error {
	accepted := j.o.Lossy || j.named(overflow(s.item, 0))
	return j.each(s.from, func(p *piece) error {
		p.mem.out = room(p.mem.out, bytesOf(&s.to, p.n))
		if err := s.next(p, p.mem.out); err != nil {
			return err
		}
		if s.lost > 0 && !accepted {
			return unsupported("%s, which only a lossy conversion does", overflow(s.item, s.lost).Why)
		}
		_, err := to.Write(p.mem.out)
		return err
	})
}

// Read implements io.Reader. A panic or Goexit of the converting goroutine, such as a panic of the
// source's reader, happens in the caller's goroutine.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.PipeReader.Read(p)
	return n, work.Rethrow(err)
}
