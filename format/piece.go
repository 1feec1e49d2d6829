package format

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Piece is a part of what a Request selects, which Model.Stream has read.
type Piece struct {
	Request int    // the index of the request
	Offset  int64  // of Data in the bytes of the request, as View.ReadInto returns them
	Data    []byte // whole elements, or whole blocks of an Encoding
	Last    bool   // the request has no further piece
}

// Stream reads tensors and slices of tensors, or all tensors if requests is nil, and calls f with
// one piece after the other, such as to copy them to a device. Requests come in the order of their
// tensors in the file, compressed ones first, and the pieces of a request one after the other, from
// its first byte to its last. A request without bytes, as for a tensor of shape [0], has one piece
// with Last and no Data.
//
// Stream fills the buffers of ring in turn, and the data of a piece lie in one of them until f
// returns. A buffer must have room for an element, or for a block of an Encoding. Behind a reader
// each is filled by one read, so give it megabytes. Without a ring Stream uses a buffer of its
// choice. It takes no more memory for tensors that are stored as they are, and decompresses others
// piece by piece where their format can. The bytes are little-endian, as View.ReadInto returns
// them. The requests have neither Bytes nor Floats. Without requests, Piece.Request is the index of
// the tensor (Model.At).
//
// Stream calls f on the goroutine of its caller. f must not close the model. An error of f ends
// Stream, which returns it as it is.
//
// Under Options.Trusted the bytes of each piece were compared with what was signed. Where
// Options.Check has checksums compared before the first use of a tensor, Stream compares them
// before its first piece, and reads the tensor twice. The checksum of compressed data may only be
// known at its end: if that is wrong, the error comes after the pieces.
//
// Errors name the tensor, before anything is read where they are known by then: ErrNotFound,
// ErrShape (a slice outside of the tensor), ErrOption (Bytes or Floats set, a buffer without room).
// Others are those of View.ReadInto and the context's.
func (m *Model) Stream(ctx context.Context, requests []Request, ring [][]byte, f func(Piece) error) error {
	m = m.opened()
	s := &streaming{verification: newVerification(m, ctx, &VerifyOptions{Workers: 1}), f: f, ring: ring}
	defer s.pass.Close()
	err := m.within(func() error {
		list, err := s.plan(requests)
		if err != nil {
			return err
		}
		return s.run(list)
	})
	if s.failed != nil {
		return s.failed
	}
	return err
}

// streaming is a call of Stream. It collects the bytes of one request at a time in the buffers of
// the ring.
type streaming struct {
	*verification
	f      func(Piece) error
	failed error // of f

	ring [][]byte
	turn int // of the buffers

	request *streamedRequest // that is read
	buf     []byte           // its whole elements
	n       int              // bytes in buf
	offset  int64            // of buf in the request
}

// streamedRequest is a request of Stream.
type streamedRequest struct {
	checkedRequest
	index int
	isIn  bool  // in the section of the format
	at    int64 // the first selected byte: in the file, or in that section
}

// plan checks the requests and the ring, and sorts the requests.
func (s *streaming) plan(requests []Request) ([]*streamedRequest, error) {
	m := s.m
	if requests == nil {
		for i := range m.index.Len() {
			requests = append(requests, Request{Tensor: m.index.Name(i)})
		}
	}
	var list []*streamedRequest
	total := int64(0)
	unit := int64(1)
	step := int64(pass.PieceSize) // which stays in a cache
	for k := range requests {
		q := &requests[k]
		if q.Bytes != nil || q.Floats != nil {
			return nil, m.about(q.Tensor, -1, fmt.Errorf("%w: Bytes or Floats are set", tensor.ErrOption))
		}
		t := &streamedRequest{index: k}
		t.Request = q
		err := t.check(m)
		if err != nil {
			return nil, err
		}
		if err := t.selectRuns(m); err != nil {
			return nil, m.explainTensor(err, q.Tensor)
		}
		for _, b := range s.ring {
			if int64(len(b)) < t.unit.bytes {
				err := fmt.Errorf("%w: a buffer has %d bytes, an element or block %d", tensor.ErrOption, len(b), t.unit.bytes)
				return nil, m.about(q.Tensor, -1, err)
			}
		}
		if t.region.IsReader() {
			step = max(step, s.pass.Fetch)
		}
		total += t.bytes
		unit = max(unit, t.unit.bytes)
		list = append(list, t)
	}
	if len(s.ring) == 0 {
		s.ring = [][]byte{make([]byte, max(unit, min(total, step)))}
	}
	slices.SortStableFunc(list, (*streamedRequest).compare)
	return list, nil
}

// compare orders requests as Stream reads them: by the place of the tensor, then by that of the
// slice.
func (t *streamedRequest) compare(x *streamedRequest) int {
	byPlace := cmp.Or(cmp.Compare(t.File, x.File), cmp.Compare(t.Offset, x.Offset))
	switch {
	case byPlace != 0:
		return byPlace
	case t.isIn && x.isIn:
		return cmp.Compare(t.at, x.at)
	case t.isIn != x.isIn: // the section comes last
		if t.isIn {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(t.i, x.i), cmp.Compare(t.at, x.at))
}

// selectRuns sets which bytes of the decoded tensor are selected, and where they begin.
func (t *streamedRequest) selectRuns(m *Model) error {
	sel, err := memory.Resolve(t.info.Shape, t.Slice)
	if err != nil {
		return fmt.Errorf("%w: %w", tensor.ErrShape, err)
	}
	e := t.info.Encoding
	t.runs = memory.Runs{Count: 1, Bytes: t.Size}
	hasBlocks := e != nil && e.BlockElems > 0 && e.BlockBytes > 0
	if hasBlocks {
		t.unit = unit{e.BlockElems, e.BlockBytes}
	}
	isPart := len(t.Slice) > 0
	switch {
	case e == nil:
		t.runs = memory.RunsOf(t.info.Shape, sel, t.unit.bytes)
	case isPart && !hasBlocks:
		_, err := t.view.Slice(t.Slice...)
		return err
	case isPart:
		shape, blocks, ok := memory.InBlocks(t.info.Shape, sel, e.BlockElems)
		if ok {
			t.runs = memory.RunsOf(shape, blocks, e.BlockBytes)
			break
		}
		_, err := t.view.Slice(t.Slice...) // an error, or all of a tensor whose rows share blocks
		if err != nil {
			return err
		}
	}
	t.bytes = t.runs.Count * t.runs.Bytes
	t.whole = false
	if t.bytes > 0 {
		t.at = t.runs.At(0)
	}
	if !t.IsAlone {
		t.at += t.Offset
	}
	if t.IsAlone && m.parsed.Section != nil && m.parsed.Shares(t.i) {
		t.isIn = true
		t.at += m.parsed.Section.SectionAt(t.i)
	}
	return nil
}

// run reads the requests in their order. Neighbors in the section of the format are read together.
func (s *streaming) run(list []*streamedRequest) error {
	for len(list) > 0 {
		n := 1
		if list[0].isIn {
			for n < len(list) && list[n].isIn {
				n++
			}
			if err := s.readSection(list[:n]); err != nil {
				return err
			}
		} else if err := s.m.explainTensor(s.readTensor(list[0]), list[0].Tensor); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// ready checks a tensor before its first use.
func (s *streaming) ready(t *streamedRequest) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if !s.m.touch.pending.Load() {
		return nil
	}
	return s.m.checkTouch(t.Tensor)
}

// readTensor reads a request of a tensor that is not in the section of the format.
func (s *streaming) readTensor(t *streamedRequest) error {
	err := s.ready(t)
	if err != nil {
		return err
	}
	if err := s.begin(t); err != nil {
		return err
	}
	if t.bytes == 0 {
		return nil
	}
	if t.IsAlone {
		return s.readDecoded(t)
	}
	for _, p := range t.cut(nil) {
		err := s.readChunk(&p)
		if err != nil {
			return err
		}
	}
	return nil
}

// readChunk reads a chunk of a file, and skips its gaps.
func (s *streaming) readChunk(p *chunk) error {
	r := p.t.region
	if p.n == p.Size {
		return s.readRange(r, p.Offset, p.Offset+p.Size)
	}
	buf := buffer(p.Size)
	defer steps.Put(buf)
	b := (*buf)[:p.Size]
	err := s.pass.Read(b, pass.Range{File: r, Offset: p.Offset}, nil)
	if err != nil {
		return err
	}
	runs := &p.t.runs
	first := p.first / runs.Bytes
	for k := first; k < first+p.n/runs.Bytes; k++ {
		at := p.t.Offset + runs.At(k) - p.Offset
		_, err := s.Write(b[at:][:runs.Bytes])
		if err != nil {
			return err
		}
	}
	return nil
}

// readRange reads a range of a file straight into the ring.
func (s *streaming) readRange(r *source.Region, off, end int64) error {
	for off < end {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		b := s.room()
		b = b[:min(int64(len(b)), end-off)]
		err := s.pass.Read(b, pass.Range{File: r, Offset: off}, nil)
		if err != nil {
			return err
		}
		off += int64(len(b))
		if err := s.filled(len(b)); err != nil {
			return err
		}
	}
	return nil
}

// readDecoded reads a tensor that the driver decodes.
func (s *streaming) readDecoded(t *streamedRequest) error {
	w := &selection{s: s, list: []*streamedRequest{t}, isBegun: true, from: []int64{0}}
	if s.m.parsed.Stream == nil {
		data, err := s.m.decoded(t.i, false)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	err := s.m.parsed.Stream(t.i, &canceledWriter{s.ctx, w})
	if err != nil {
		return err
	}
	return w.ended(t.Size)
}

// readSection reads requests of tensors that are compressed together, in as few passes as their
// order allows.
func (s *streaming) readSection(list []*streamedRequest) error {
	section := s.m.parsed.Section
	for _, t := range list {
		if err := s.ready(t); err != nil {
			return s.m.explainTensor(err, t.Tensor)
		}
	}
	for len(list) > 0 {
		w := &selection{s: s}
		end := int64(0)
		var later []*streamedRequest
		for _, t := range list {
			from := section.SectionAt(t.i)
			if from < end { // it is requested twice
				later = append(later, t)
				continue
			}
			end = from + t.Size
			w.list = append(w.list, t)
			w.from = append(w.from, from)
		}
		err := section.StreamSection(&canceledWriter{s.ctx, w})
		if err != nil {
			return s.m.explainTensor(err, w.name())
		}
		err = w.ended(end)
		if err != nil {
			return s.m.explainTensor(err, w.name())
		}
		list = later
	}
	return nil
}

// selection is a writer of decoded data that passes on the selected bytes of requests, in the order
// of the data.
type selection struct {
	s       *streaming
	list    []*streamedRequest // that are not complete
	from    []int64            // of each: where its tensor begins in the data
	isBegun bool               // the first of list
	run     int64              // its run that comes next, or that is being written
	done    int64              // bytes of that run
	at      int64              // bytes of data so far
}

// Write implements io.Writer.
func (w *selection) Write(b []byte) (int, error) {
	n := len(b)
	for len(w.list) > 0 {
		t := w.list[0]
		if !w.isBegun {
			if err := w.s.begin(t); err != nil {
				return 0, err
			}
			w.isBegun = true
		}
		if w.run == t.runs.Count || t.bytes == 0 {
			w.list = w.list[1:]
			w.from = w.from[1:]
			w.isBegun = false
			w.run = 0
			continue
		}
		skip := w.from[0] + t.runs.At(w.run) + w.done - w.at
		if skip >= int64(len(b)) {
			break
		}
		part := b[skip:]
		part = part[:min(int64(len(part)), t.runs.Bytes-w.done)]
		if _, err := w.s.Write(part); err != nil {
			return 0, err
		}
		w.done += int64(len(part))
		w.at += skip + int64(len(part))
		b = b[skip+int64(len(part)):]
		if w.done == t.runs.Bytes {
			w.run = w.run + 1
			w.done = 0
		}
	}
	w.at += int64(len(b))
	return n, nil
}

// name returns the tensor that is read.
func (w *selection) name() string {
	if len(w.list) == 0 {
		return ""
	}
	return w.list[0].Tensor
}

// ended returns an error if the data has fewer than size bytes.
func (w *selection) ended(size int64) error {
	if w.at < size {
		return fmt.Errorf("%w: %d bytes were decoded, there are %d", tensor.ErrCorrupt, w.at, size)
	}
	_, err := w.Write(nil) // what is empty at the end
	return err
}

// begin starts a request, and ends one that is empty.
func (s *streaming) begin(t *streamedRequest) error {
	s.request = t
	s.offset = 0
	s.n = 0
	s.buf = nil
	if t.bytes == 0 {
		return s.call(nil)
	}
	return nil
}

// room returns where the next bytes of the request go. It is not empty while bytes are missing.
func (s *streaming) room() []byte {
	if s.buf == nil {
		t := s.request
		b := s.ring[s.turn%len(s.ring)]
		s.turn++
		whole := int64(len(b)) / t.unit.bytes * t.unit.bytes
		s.buf = b[:min(whole, t.bytes-s.offset)]
	}
	return s.buf[s.n:]
}

// filled records that the first n bytes of room were set, and passes on a buffer that is full.
func (s *streaming) filled(n int) error {
	s.n += n
	if s.n < len(s.buf) {
		return nil
	}
	b := s.buf
	s.buf = nil
	s.n = 0
	return s.call(b)
}

// Write appends bytes of the request.
func (s *streaming) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		k := copy(s.room(), b)
		b = b[k:]
		if err := s.filled(k); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// call calls f with the next piece of the request.
func (s *streaming) call(b []byte) error {
	if s.failed != nil {
		return s.failed // a driver that went on
	}
	p := Piece{Request: s.request.index, Offset: s.offset, Data: b}
	s.offset += int64(len(b))
	p.Last = s.offset == s.request.bytes
	s.failed = s.f(p)
	return s.failed
}

// canceledWriter is a writer that fails when its context is canceled.
type canceledWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c *canceledWriter) Write(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(b)
}
