package format

import (
	"runtime/debug"
	"sync"

	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/work"
)

// streaming is a call of Stream. A goroutine fills the buffers of the ring while f uses others.
type streaming struct {
	*verification
	f      func(Piece) error
	failed error // of f

	filling sync.WaitGroup // goroutines that write to buffers
	ring    ring
	buf     *buffered        // that is being filled, or nil
	request *streamedRequest // that is read
	offset  int64            // of its next piece
	at, end int64            // of the bytes in buf that come next, of the last piece
}

// streamedRequest is a request of Stream.
type streamedRequest struct {
	checkedRequest
	index int
	isIn  bool  // in the section of the format
	at    int64 // the first selected byte: in the file, or in that section
}

// ring is the buffers of Stream. They go from a goroutine that fills them to the one of the caller,
// and back.
type ring struct {
	empty, full chan *buffered // with room for all buffers
	least       int64          // size of the smallest buffer
}

// newRing returns a ring whose buffers are empty.
func newRing(buffers [][]byte) ring {
	r := ring{
		empty: make(chan *buffered, len(buffers)),
		full:  make(chan *buffered, len(buffers)),
		least: int64(len(buffers[0])),
	}
	for _, b := range buffers {
		r.least = min(r.least, int64(len(b)))
		r.empty <- &buffered{memory: b, isRead: make(chan error, 1)}
	}
	return r
}

// put returns a buffer that was used.
func (r *ring) put(b *buffered) {
	b.size = 0
	b.pieces = b.pieces[:0]
	b.reads = b.reads[:0]
	b.parts = b.parts[:0]
	b.sums = b.sums[:0]
	r.empty <- b
}

// buffered is a buffer and the pieces in it.
type buffered struct {
	memory []byte
	size   int64 // of what is there, with gaps
	pieces []Piece
	reads  []bufferedRead // to be done before the pieces are used
	parts  []bufferedRead // of reads
	sums   []bufferedSum
	isRead chan error // has the result of reading
}

// bufferedRead is a range of a file that is read into a buffer.
type bufferedRead struct {
	*streamedRequest       // the last one whose bytes it reads
	off, size        int64 // in the file
	at               int64 // in the buffer
}

// bufferedSum is a piece with all bytes of a tensor, which are compared with its checksum.
type bufferedSum struct {
	*streamedRequest
	data []byte
}

// align is where pieces begin that are not read together with the one before.
const align = 64

// gap returns how many bytes are between the last read and an offset of the file of t, and -1 if
// they are no neighbors or if other bytes follow that read in the buffer.
func (b *buffered) gap(t *streamedRequest, off int64) int64 {
	if len(b.reads) == 0 {
		return -1
	}
	last := &b.reads[len(b.reads)-1]
	gap := off - (last.off + last.size)
	if last.region != t.region || last.at+last.size != b.size || gap > pass.MaxGap {
		return -1
	}
	return gap
}

// place returns where a piece of t begins, which is at an offset of its file. Neighbors in the file
// are neighbors in the buffer, unless that would put elements between their multiples.
func (b *buffered) place(t *streamedRequest, off int64) int64 {
	gap := b.gap(t, off)
	if gap >= 0 && (t.info.Encoding != nil || (b.size+gap)%t.unit.bytes == 0) {
		return b.size + gap
	}
	return (b.size + align - 1) / align * align
}

// plan plans to read a range of the file of t into the buffer.
func (b *buffered) plan(t *streamedRequest, off, size, at int64) {
	gap := b.gap(t, off)
	if gap >= 0 && b.size+gap == at {
		last := &b.reads[len(b.reads)-1]
		last.size += gap + size
		last.streamedRequest = t
	} else {
		b.reads = append(b.reads, bufferedRead{t, off, size, at})
	}
	b.size = at + size
}

// compare plans to compare the last piece, which is all of t, with the checksum of t.
func (b *buffered) compare(t *streamedRequest) {
	b.sums = append(b.sums, bufferedSum{t, b.pieces[len(b.pieces)-1].Data})
}

// readPart is how much of a buffer one goroutine reads at a time.
const readPart = 4 << 20

// split divides the reads of files into parts, so that several goroutines do them. They end where
// pieces of sealed files do.
func (b *buffered) split() {
	for _, x := range b.reads {
		for !x.region.IsReader() && x.size >= readPart+pass.PieceSize {
			part := x
			part.size = readPart - x.off%pass.PieceSize
			b.parts = append(b.parts, part)
			x.off += part.size
			x.at += part.size
			x.size -= part.size
		}
		b.parts = append(b.parts, x)
	}
}

// flush starts to read what was planned for the buffer that is being filled, and passes it on.
func (s *streaming) flush() error {
	b := s.buf
	if b == nil {
		return nil
	}
	s.buf = nil
	s.filling.Go(func() {
		debug.SetPanicOnFault(true)
		work.Catch(func() error { return s.read(b) }, func(err error) { b.isRead <- err })
	})
	s.ring.full <- b
	return nil
}

// read does the reads of a buffer, and compares the checksums of its pieces.
func (s *streaming) read(b *buffered) error {
	b.split()
	err := s.Each(len(b.parts), func(i int) error {
		x := &b.parts[i]
		r := pass.Range{File: x.region, Offset: x.off, IsWhole: true}
		err := s.pass.Read(b.memory[x.at:x.at+x.size], r, nil)
		return s.m.explainTensor(err, x.Tensor)
	})
	if err != nil {
		return err
	}
	return s.Each(len(b.sums), func(i int) error {
		x := &b.sums[i]
		want := s.tensorSum(x.i)
		err := s.compareTensor(x.i, want, checksum.Of(want.Kind, x.data), x.Offset)
		if err != nil {
			return err
		}
		s.m.touch.passed(x.i)
		return nil
	})
}

// take waits for an empty buffer, unless one is being filled.
func (s *streaming) take() error {
	if s.buf != nil {
		return nil
	}
	select {
	case s.buf = <-s.ring.empty:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// begin starts a request. One without bytes has a piece without data.
func (s *streaming) begin(t *streamedRequest) error {
	s.request = t
	s.offset = 0
	s.at = 0
	s.end = 0
	if t.bytes > 0 {
		return nil
	}
	err := s.take()
	if err != nil {
		return err
	}
	s.buf.pieces = append(s.buf.pieces, Piece{Request: t.index, Last: true})
	return nil
}

// room makes room for the next bytes of the request, which are at an offset of its file, or -1. If
// the last piece has none left, it begins the next one. A piece is all of a request that fits into
// a buffer, and fills the rest of a buffer otherwise.
func (s *streaming) room(off int64) error {
	if s.at < s.end {
		return nil
	}
	t := s.request
	left := t.bytes - s.offset
	for {
		err := s.take()
		if err != nil {
			return err
		}
		at := s.buf.place(t, off)
		n := (int64(len(s.buf.memory)) - at) / t.unit.bytes * t.unit.bytes
		if at == 0 || left <= n || left > s.ring.least && n > 0 {
			s.at = at
			s.end = at + min(n, left)
			break
		}
		err = s.flush()
		if err != nil {
			return err
		}
	}
	p := Piece{Request: t.index, Offset: s.offset, Data: s.buf.memory[s.at:s.end:s.end]}
	s.offset += s.end - s.at
	p.Last = s.offset == t.bytes
	s.buf.pieces = append(s.buf.pieces, p)
	return nil
}

// readRange reads bytes of the request that are in its file as they are.
func (s *streaming) readRange(off, size int64) error {
	for size > 0 {
		err := s.room(off)
		if err != nil {
			return err
		}
		n := min(s.end-s.at, size)
		s.buf.plan(s.request, off, n, s.at)
		s.at += n
		off += n
		size -= n
	}
	return nil
}

// Write appends bytes of the request.
func (s *streaming) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		err := s.room(-1)
		if err != nil {
			return 0, err
		}
		k := copy(s.buf.memory[s.at:s.end], b)
		s.at += int64(k)
		s.buf.size = s.at
		b = b[k:]
	}
	return n, nil
}
