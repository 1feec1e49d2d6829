package mle

import (
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/tensor"
)

// newBody chooses the way the weights take. With encryption it ends in memory,
// and nothing of the plain weights touches a disk.
func (e *encoder) newBody() body {
	if e.aead == nil {
		return e.bodyTo(&shifted{e.t, e.h.Weights.Offset})
	}
	m := &sink.Memory{}
	return &memoryBody{body: e.bodyTo(m), m: m}
}

func (e *encoder) bodyTo(t io.WriterAt) body {
	switch {
	case e.o.Compression == MethodNone:
		return &plainBody{e: e, t: t, sums: make([]uint32, len(e.offsets))}
	case e.o.Chunked:
		return &orderedBody{spool: spool{e: e}, to: &chunkBody{e: e, out: appender{t: t}}}
	case e.o.Compression == MethodLZ4, e.o.Compression == MethodInt8:
		return &gatherBody{spool: spool{e: e}, out: appender{t: t}}
	}
	return &orderedBody{spool: spool{e: e}, to: &streamBody{e: e, out: appender{t: t}}}
}

// memoryBody keeps stored weights for encryption.
type memoryBody struct {
	body
	m *sink.Memory
}

// shifted is a part of a target.
type shifted struct {
	t    io.WriterAt
	base int64
}

func (s *shifted) WriteAt(p []byte, off int64) (int, error) { return s.t.WriteAt(p, s.base+off) }

// appender writes one piece after the other and adds up their checksum.
type appender struct {
	t   io.WriterAt
	pos int64
	sum uint32
}

func (a *appender) Write(p []byte) (int, error) {
	n, err := a.t.WriteAt(p, a.pos)
	a.pos += int64(n)
	a.sum = tensor.UpdateCRC32(a.sum, p[:n])
	return n, err
}

// summer is an io.Writer that is a CRC-32.
type summer struct{ sum uint32 }

func (s *summer) Write(p []byte) (int, error) {
	s.sum = tensor.UpdateCRC32(s.sum, p)
	return len(p), nil
}

// plainBody puts every tensor where it belongs, in any order.
type plainBody struct {
	e    *encoder
	t    io.WriterAt
	sums []uint32
}

func (b *plainBody) tensor(i int, in *sink.Input) error {
	var s summer
	err := in.CopyTo(b.t, b.e.offsets[i], &s)
	b.sums[i] = s.sum
	return err
}

func (b *plainBody) finish() (stored, error) {
	s := stored{size: b.e.size}
	pos := int64(0)
	for i, sum := range b.sums {
		s.sum = tensor.UpdateCRC32(s.sum, padding[:b.e.offsets[i]-pos])
		s.sum = tensor.CombineCRC32(s.sum, sum, b.e.plan.Tensors[i].Size)
		pos = b.e.offsets[i] + b.e.plan.Tensors[i].Size
	}
	s.original = s.sum
	return s, nil
}

func (b *plainBody) drop() {}

var padding [alignment]byte

// spool keeps tensors that cannot go into the file yet, each at its offset in
// the uncompressed weights: in memory when that is where the file goes or they
// are secret, in a temporary file otherwise.
type spool struct {
	e *encoder
	t sink.Target
}

// keep takes the data of tensor i.
func (s *spool) keep(i int, in *sink.Input) error {
	if s.t == nil {
		if s.e.aead != nil || s.e.o.Spool == format.SpoolMemory {
			s.t = &sink.Memory{}
		} else {
			file, err := sink.NewSpool()
			if err != nil {
				return err
			}
			s.t = file
		}
	}
	return in.CopyTo(s.t, s.e.offsets[i])
}

// kept returns the data of tensor i.
func (s *spool) kept(i int) *sink.Input {
	size := s.e.plan.Tensors[i].Size
	return sink.NewInput(s.e.o.Context, io.NewSectionReader(s.t, s.e.offsets[i], size), size, nil)
}

func (s *spool) drop() {
	if file, ok := s.t.(*sink.Spool); ok {
		file.Remove()
	}
	s.t = nil
}

// orderedBody hands tensors on in the order of the plan. Those that come
// early wait in a spool, so that the order of arrival does not show.
type orderedBody struct {
	spool
	to      inOrder
	next    int
	waiting []bool
}

// inOrder takes tensors in the order of the plan.
type inOrder interface {
	take(i int, in *sink.Input) error
	finish() (stored, error)
}

func (b *orderedBody) tensor(i int, in *sink.Input) error {
	if i != b.next {
		if b.waiting == nil {
			b.waiting = make([]bool, len(b.e.offsets))
		}
		b.waiting[i] = true
		return b.keep(i, in)
	}
	if err := b.to.take(i, in); err != nil {
		return err
	}
	for b.next++; b.waiting != nil && b.next < len(b.waiting) && b.waiting[b.next]; b.next++ {
		if err := b.to.take(b.next, b.kept(b.next)); err != nil {
			return err
		}
	}
	return nil
}

func (b *orderedBody) finish() (stored, error) { return b.to.finish() }
