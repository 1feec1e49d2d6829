package format

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Stream reads tensors and slices of tensors, or all tensors if requests is nil, and calls f with
// one piece after the other, such as to copy them to a device. Requests come in the order of their
// tensors in the file, compressed ones first, and the pieces of a request one after the other, from
// its first byte to its last. A request without bytes, as for a tensor of shape [0], has one piece
// with Last and no Data.
//
// Stream fills the buffers of ring in turn, while f runs: each on as many goroutines as
// Options.Workers says, or a reader. The data of a piece lie in a buffer until f returns. A buffer
// must have room for an element, or for a block of an Encoding. A request that fits into each
// buffer is one piece; pieces of others are as large as a buffer, or the rest of one. Neighbors in
// the file share a buffer, and one read fills it, so give it megabytes. In a buffer that is
// aligned, elements are, too. Without a ring Stream uses two buffers of its choice. It takes no
// more memory for tensors that are stored as they are, does not map their pages, and decompresses
// others piece by piece where their format can. The bytes are little-endian, as View.ReadInto
// returns them. The requests have neither Bytes nor Floats. Without requests, Piece.Request is the
// index of the tensor (Model.At).
//
// Stream calls f on the goroutine of its caller. f must not close the model. An error of f ends
// Stream, which returns it as it is. When Stream returns, nothing writes to the buffers any more.
//
// Under Options.Trusted the bytes of each piece were compared with what was signed. Where
// Options.Check has checksums compared before the first use of a tensor, Stream compares them
// before its first piece: in the buffer if all of the tensor is there and has its own checksum.
// Otherwise it reads the tensor twice. The checksum of compressed data may only be known at its
// end: if that is wrong, the error comes after the pieces.
//
// Errors name the tensor, before anything is read where they are known by then: ErrNotFound,
// ErrShape (a slice outside of the tensor), ErrOption (Bytes or Floats set, a buffer without room).
// Others are those of View.ReadInto and the context's.
func (m *Model) Stream(
	ctx context.Context, requests []Request, ring [][]byte, f func(Piece) error,
) error {
	m = m.opened()
	ctx, cancel := context.WithCancel(cmp.Or(ctx, context.Background()))
	defer cancel()
	v := newVerification(m, ctx, &VerifyOptions{Workers: m.c.options.Workers})
	s := &streaming{verification: v, f: f}
	defer s.pass.Close()
	err := m.within(func() error {
		list, err := s.plan(requests, ring)
		if err != nil {
			return err
		}
		return s.run(list, cancel)
	})
	if s.failed != nil {
		return s.failed
	}
	return err
}

// run calls f with the pieces of the requests.
func (s *streaming) run(list []*streamedRequest, cancel func()) error {
	defer s.filling.Wait() // after Stream nothing writes to the buffers
	defer cancel()
	var err error
	s.filling.Go(func() {
		defer close(s.ring.full)
		debug.SetPanicOnFault(true) // the guard of the caller gets the panic
		work.Catch(func() error { return s.fill(list) }, func(failed error) { err = failed })
	})
	for b := range s.ring.full {
		err := s.use(b)
		if err != nil {
			return err
		}
	}
	return work.Rethrow(err)
}

// use waits until a buffer is read, and calls f with its pieces. It is empty then.
func (s *streaming) use(b *buffered) error {
	err := work.Rethrow(<-b.isRead)
	if err != nil {
		return err
	}
	for _, p := range b.pieces {
		err := s.ctx.Err()
		if err != nil {
			return err
		}
		s.failed = s.f(p)
		if s.failed != nil {
			return s.failed
		}
	}
	s.ring.put(b)
	return nil
}

// streamStep is the size of a buffer that Stream makes: it stays in a cache until it is used.
const streamStep = 512 << 10

// plan checks the requests and the buffers of the caller, sorts the requests, and makes the ring.
func (s *streaming) plan(requests []Request, buffers [][]byte) ([]*streamedRequest, error) {
	m := s.m
	if requests == nil {
		for i := range m.index.Len() {
			requests = append(requests, Request{Tensor: m.index.Name(i)})
		}
	}
	checked := make([]streamedRequest, len(requests))
	list := make([]*streamedRequest, len(requests))
	total := int64(0)
	unit := int64(1)
	step := int64(streamStep)
	for k := range requests {
		q := &requests[k]
		if q.Bytes != nil || q.Floats != nil {
			err := fmt.Errorf("%w: Bytes or Floats are set", tensor.ErrOption)
			return nil, m.about(q.Tensor, -1, err)
		}
		t := &checked[k]
		t.index = k
		t.Request = q
		list[k] = t
		err := t.check(m)
		if err != nil {
			return nil, err
		}
		if err := t.selectRuns(m); err != nil {
			return nil, m.explainTensor(err, q.Tensor)
		}
		for _, b := range buffers {
			if int64(len(b)) < t.unit.bytes {
				err := fmt.Errorf("%w: a buffer has %d bytes, an element or block %d",
					tensor.ErrOption, len(b), t.unit.bytes)
				return nil, m.about(q.Tensor, -1, err)
			}
		}
		if t.region.IsReader() {
			step = max(step, s.pass.Fetch)
			s.o.Workers = max(s.o.Workers, t.region.Parallel())
		}
		total += t.bytes
		unit = max(unit, t.unit.bytes)
	}
	size := max(unit, min(total, step))
	if len(buffers) == 0 {
		buffers = [][]byte{make([]byte, size)}
		if total > size {
			buffers = append(buffers, make([]byte, size))
		}
	}
	s.ring = newRing(buffers)
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
	sel, err := memory.Resolve(nil, t.info.Shape, t.Slice)
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
		shape := slices.Clone(t.info.Shape)
		blocks := slices.Clone(sel)
		if memory.InBlocks(shape, blocks, e.BlockElems) {
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
	t.hashed = !isPart && m.touchHashes(t.i)
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

// fill reads the requests in their order. Neighbors in the section of the format are read together.
func (s *streaming) fill(list []*streamedRequest) error {
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
	return s.flush()
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
	isComparedInBuffer := t.hashed && t.bytes <= s.ring.least
	if !isComparedInBuffer {
		err := s.ready(t)
		if err != nil {
			return err
		}
	}
	err := s.begin(t)
	if err != nil {
		return err
	}
	switch {
	case t.bytes == 0:
		return nil
	case t.IsAlone:
		return s.readDecoded(t)
	case t.runs.Count == 1:
		err = s.readRange(t.Offset+t.runs.At(0), t.bytes)
	default:
		err = s.readRuns(t)
	}
	if err != nil {
		return err
	}
	if isComparedInBuffer {
		s.buf.compare(t)
	}
	return nil
}

// readRuns reads a slice that has gaps.
func (s *streaming) readRuns(t *streamedRequest) error {
	for p := range t.chunks {
		var err error
		if p.n == p.Size {
			err = s.readRange(p.Offset, p.Size)
		} else {
			err = s.readDense(&p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readDense reads a chunk with small gaps, and skips these.
func (s *streaming) readDense(p *chunk) error {
	buf := buffer(p.Size)
	defer steps.Put(buf)
	b := (*buf)[:p.Size]
	err := s.pass.Read(b, pass.Range{File: p.t.region, Offset: p.Offset}, nil)
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
