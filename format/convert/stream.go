package convert

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/internal/work"
)

const (
	// decodedMost is the size up to which tensors that the source decodes are converted concurrently.
	decodedMost = 8 << 20
	// ahead is the number of pieces that a conversion may be ahead of the writer.
	ahead = 2
)

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

// stream is the data of a tensor, converted by another goroutine. It is an io.Reader.
type stream struct {
	*item
	pieces chan *[]byte
	err    error   // valid once pieces is closed
	tally          // likewise
	piece  *[]byte // being read
	left   []byte  // unread rest of piece
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

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
	s := &stream{item: it, pieces: make(chan *[]byte, ahead)}
	s.rows = vector.NewZeroRows(it.to.Shape)
	j.running.Go(func() {
		work.Catch(func() error { return j.convert(s) }, func(err error) {
			s.err = cmp.Or(err, io.EOF)
			close(s.pieces)
		})
	})
	return s
}

// convert converts a tensor.
func (j *job) convert(s *stream) error {
	accepted := j.o.Lossy || j.named(overflow(s.item, 0))
	return j.each(s.from, func(p *piece) error {
		b := buffers.Get().(*[]byte)
		*b = room(*b, bytesOf(&s.to, p.n))
		if err := s.next(p, *b); err != nil {
			return err
		}
		if s.lost > 0 && !accepted {
			return unsupported("%s, which only a lossy conversion does", overflow(s.item, s.lost).Why)
		}
		select {
		case s.pieces <- b:
			return nil
		case <-j.stop:
			return context.Canceled
		}
	})
}

// Read implements io.Reader. A panic or Goexit of the converting goroutine, such as a panic of the
// source's reader, happens in the caller's goroutine.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.piece != nil {
			buffers.Put(s.piece)
		}
		if s.piece = <-s.pieces; s.piece == nil {
			return 0, work.Rethrow(s.err)
		}
		s.left = *s.piece
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}
