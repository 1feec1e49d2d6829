package mle

import (
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/tensor"
)

// newBody chooses the way the weights take. With encryption it ends in memory,
// and nothing of the plain weights touches a disk.
func (e *encoder) newBody() body {
	if e.cipher == nil {
		return e.bodyTo(io.NewOffsetWriter(e.t, e.h.Weights.Offset))
	}
	m := &sink.Memory{}
	return &memoryBody{body: e.bodyTo(m), m: m}
}

func (e *encoder) bodyTo(t io.WriterAt) body {
	switch {
	case e.o.Compression == MethodNone:
		return &plainBody{e: e, t: t, sums: make([]uint32, len(e.offsets))}
	case e.o.Chunked:
		return &chunkBody{e: e, out: appender{t: t}}
	case e.o.Compression == MethodLZ4:
		return &lz4Body{e: e, out: appender{t: t}}
	case e.o.Compression == MethodInt8:
		return &int8Body{e: e, out: appender{t: t}}
	}
	return &streamBody{e: e, out: appender{t: t}}
}

// ordered reports whether the body takes tensors in the plan's order only.
func (o *WriteOptions) ordered() bool {
	switch o.Compression {
	case MethodNone:
		return false
	case MethodLZ4, MethodInt8:
		return o.Chunked
	}
	return true
}

// memoryBody keeps stored weights for encryption.
type memoryBody struct {
	body
	m *sink.Memory
}

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

func (b *plainBody) tensor(i int, in driver.Input) error {
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

var padding [alignment]byte
