package convert

import (
	"fmt"
	"io"
	"runtime"

	"github.com/weightmap/weightmap/format"
)

// workers is how many tensors are read and converted at a time. Each takes some
// megabytes, so there are few however many processors there are.
func workers() int { return min(runtime.GOMAXPROCS(0), 4) }

// decodedMost is how large a tensor that the source decodes may be next to others.
const decodedMost = 8 << 20

// workersFor returns how many tensors are converted at a time: of large ones that the source
// decodes, one.
func workersFor(items []*item) int {
	for _, it := range items {
		if info := it.from.Info(); info.Offset < 0 && info.Size > decodedMost {
			return 1
		}
	}
	return workers()
}

// ahead is how many pieces a tensor may be converted ahead of the writer.
const ahead = 2

// stream is a tensor that is converted while the writer is busy with others, or with
// what came before. It is an io.Reader.
type stream struct {
	full, free chan []byte // pieces, and memory for more
	err        error       // why full was closed
	tally                  // when it is
	broken     bool        // instead: what reads the source ended the goroutine
	thrown     any         // what it panicked with, nil for runtime.Goexit
	piece      []byte      // that is being read
	left       []byte      // of it
}

// begin converts tensor now and those that come next, as far as there are workers.
func (j *job) begin(now int) {
	for ; j.begun < len(j.items) && j.active < j.workers && (j.workers > 1 || j.begun <= now); j.begun++ {
		if it := j.items[j.begun]; it.changes {
			it.stream = j.start(it)
			j.active++
		}
	}
}

// start converts a tensor.
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

// finish keeps the memory of a stream that was read to its end for others.
func (j *job) finish(s *stream) {
	for range cap(s.free) {
		j.spare = append(j.spare, <-s.free)
	}
	j.active--
}

// run fills s.
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
			s.full <- b // does not wait: there is room for as many as there is memory for
		case <-j.stop:
			return
		}
	}
}

// Read implements io.Reader. What ended the goroutine that converts, such as a panic of the
// reader behind the source, ends the caller's.
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
