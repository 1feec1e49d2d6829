package convert

import (
	"fmt"
	"io"
	"runtime"

	"github.com/weightmap/weightmap/format"
)

// workers returns the number of tensors to convert concurrently: few, since each takes some megabytes.
func workers() int { return min(runtime.GOMAXPROCS(0), 4) }

// decodedMost is the size up to which tensors that the source decodes are converted concurrently.
const decodedMost = 8 << 20

// workersFor returns the number of tensors to convert concurrently: one if the source decodes large
// tensors.
func workersFor(items []*item) int {
	for _, it := range items {
		if info := it.from.Info(); info.Offset < 0 && info.Size > decodedMost {
			return 1
		}
	}
	return workers()
}

// ahead is the number of pieces that a conversion may be ahead of the writer.
const ahead = 2

// stream is a tensor converted in the background. It is an io.Reader.
type stream struct {
	full, free chan []byte // converted pieces, and buffers for more
	err        error       // valid once full is closed
	tally                  // likewise
	broken     bool        // a panic or Goexit of the source ended the goroutine
	thrown     any         // the panic's value; nil for runtime.Goexit
	piece      []byte      // being read
	left       []byte      // unread rest of piece
}

// begin starts converting tensor now and those that follow, up to the number of workers.
func (j *job) begin(now int) {
	for ; j.begun < len(j.items) && j.active < j.workers && (j.workers > 1 || j.begun <= now); j.begun++ {
		if it := j.items[j.begun]; it.changes {
			it.stream = j.start(it)
			j.active++
		}
	}
}

// start starts converting a tensor.
func (j *job) start(it *item) *stream {
	s := &stream{full: make(chan []byte, ahead+1), free: make(chan []byte, ahead+1)}
	for range cap(s.free) {
		var spare []byte
		if n := len(j.spare); n > 0 {
			spare, j.spare = j.spare[n-1], j.spare[:n-1]
		}
		s.free <- spare
	}
	j.running.Go(func() {
		defer close(s.full)
		finished := false
		defer func() {
			if !finished {
				s.thrown, s.broken = recover(), true
			}
		}()
		j.run(it, s)
		finished = true
	})
	return s
}

// finish returns the buffers of a stream that was read to its end.
func (j *job) finish(s *stream) {
	for range cap(s.free) {
		j.spare = append(j.spare, <-s.free)
	}
	j.active--
}

// run converts the tensor into s.
func (j *job) run(it *item, s *stream) {
	mem := scratches.Get().(*scratch)
	defer scratches.Put(mem)
	c := &converter{to: &it.to, z: it.z, mem: mem}
	if c.source, s.err = j.source(it.from); s.err != nil {
		return
	}
	defer func() { s.tally = c.tally }()
	accepted, _ := j.mayOverflow(it)
	for c.more() {
		select {
		case b := <-s.free:
			b, s.err = c.convert(b)
			if s.err == nil && c.lost > 0 && !accepted {
				s.err = fmt.Errorf("%w: %s, which only a lossy conversion does", format.ErrUnsupported, overflow(it, c.lost).Why)
			}
			if s.err != nil {
				return
			}
			s.full <- b // never blocks: as many slots as buffers
		case <-j.stop:
			return
		}
	}
}

// Read implements io.Reader. It repeats a panic or Goexit of the converting goroutine, such as a panic
// of the source's reader, in the caller's goroutine.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		if s.piece != nil {
			s.free <- s.piece
			s.piece = nil
		}
		b, ok := <-s.full
		switch {
		case !ok && s.thrown != nil:
			panic(s.thrown)
		case !ok && s.broken:
			runtime.Goexit()
		case !ok && s.err != nil:
			return 0, s.err
		case !ok:
			return 0, io.EOF
		}
		s.piece, s.left = b, b
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}
