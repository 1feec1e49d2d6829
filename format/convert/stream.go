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
	// decodedMost is the size up to which tensors that the source decodes are converted
	// concurrently.
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

// streams converts the tensors of a plan, some of them concurrently and ahead of the writer.
type streams struct {
	j       *job
	read    reader
	items   []*item
	workers int // tensors converted concurrently
	begun   int // index of the first item not yet started
	running sync.WaitGroup
	stop    chan struct{}
}

func newStreams(j *job, read reader) *streams {
	items := j.plan.items
	return &streams{j: j, read: read, items: items, workers: workersFor(items),
		stop: make(chan struct{})}
}

// close ends the conversions and waits for them.
func (s *streams) close() {
	close(s.stop)
	s.running.Wait()
}

// begin starts converting the tensor with index now and those that follow.
func (s *streams) begin(now int) {
	for ; s.begun < min(now+2*s.workers-1, len(s.items)); s.begun++ {
		it := s.items[s.begun]
		if it.changes {
			it.stream = s.start(it)
		}
	}
}

// start starts converting a tensor.
func (s *streams) start(it *item) *stream {
	out := &stream{item: it, pieces: make(chan *[]byte, ahead)}
	out.tally.rows = vector.NewZeroRows(it.to.Shape)
	s.running.Go(func() {
		work.Catch(func() error { return s.convert(out) }, func(err error) {
			out.err = cmp.Or(err, io.EOF)
			close(out.pieces)
		})
	})
	return out
}

// convert converts a tensor.
func (s *streams) convert(out *stream) error {
	accepted := s.j.o.Lossy || s.j.named(overflow(out.item, 0))
	return s.read.each(out.item.from, func(p *piece) error {
		b := buffers.Get().(*[]byte)
		*b = room(*b, bytesOf(&out.item.to, p.n))
		err := out.next(p, *b)
		if err != nil {
			return err
		}
		if out.tally.lost > 0 && !accepted {
			return unsupported("%s", overflow(out.item, out.tally.lost).Why)
		}
		select {
		case out.pieces <- b:
			return nil
		case <-s.stop:
			return context.Canceled
		}
	})
}

// stream is the data of a tensor, converted by another goroutine. It is an io.Reader.
type stream struct {
	item   *item
	pieces chan *[]byte
	err    error   // valid once pieces is closed
	tally  tally   // likewise
	piece  *[]byte // that is being read
	left   []byte  // unread rest of piece
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Read implements io.Reader. A panic or Goexit of the converting goroutine, such as a panic of the
// source's reader, happens in the caller's goroutine.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.piece != nil {
			buffers.Put(s.piece)
		}
		s.piece = <-s.pieces
		if s.piece == nil {
			return 0, work.Rethrow(s.err)
		}
		s.left = *s.piece
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}
