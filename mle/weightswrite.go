package mle

import (
	"bytes"
	"io"
	"runtime"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// body is the way the weights take into the file.
type body interface {
	tensor(i int, in driver.Input) error
	// finish completes the stored weights and describes them.
	finish() (stored, error)
}

// stored describes the weights section before encryption.
type stored struct {
	size     int64
	sum      uint32 // CRC-32 of the stored bytes
	original uint32 // CRC-32 of the uncompressed bytes
	chunks   []chunk
}

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
	case e.o.Quantized:
		return &quantizedBody{e: e, from: e.from, out: appender{t: t}}
	case e.o.Compression == MethodNone:
		return &plainBody{e: e, t: t, early: map[int]uint32{}}
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
	if o.Quantized {
		return true
	}
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
	e     *encoder
	t     io.WriterAt
	next  int            // the first tensor that is not in sum
	sum   summer         // of what lies before it
	pos   int64          // where that ends
	early map[int]uint32 // the sums of tensors that came before their turn
}

func (b *plainBody) tensor(i int, in driver.Input) error {
	if i == b.next {
		b.pad()
		err := in.CopyTo(b.t, b.pos, &b.sum)
		b.pass()
		return err
	}
	var s summer
	err := in.CopyTo(b.t, b.e.offsets[i], &s)
	b.early[i] = s.sum
	return err
}

// pad sums the padding before the next tensor.
func (b *plainBody) pad() {
	off := b.e.offsets[b.next]
	b.sum.sum = tensor.UpdateCRC32(b.sum.sum, padding[:off-b.pos])
	b.pos = off
}

// pass goes on to the next tensor, and past those that came early.
func (b *plainBody) pass() {
	for {
		b.pos += b.e.plan.Tensors[b.next].Size
		b.next++
		sum, ok := b.early[b.next]
		if !ok {
			return
		}
		delete(b.early, b.next)
		b.pad()
		b.sum.sum = tensor.CombineCRC32(b.sum.sum, sum, b.e.plan.Tensors[b.next].Size)
	}
}

func (b *plainBody) finish() (stored, error) {
	return stored{size: b.e.size, sum: b.sum.sum, original: b.sum.sum}, nil
}

var padding [alignment]byte

// streamBody compresses all weights in one stream, in the order of the plan.
type streamBody struct {
	e   *encoder
	out appender
	w   io.WriteCloser
	raw summer
	pos int64
}

func (b *streamBody) tensor(i int, in driver.Input) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.write(padding[:b.e.offsets[i]-b.pos]); err != nil {
		return err
	}
	return in.Each(b.write)
}

func (b *streamBody) write(p []byte) error {
	n, err := b.w.Write(p)
	b.raw.sum = tensor.UpdateCRC32(b.raw.sum, p[:n])
	b.pos += int64(n)
	return err
}

// open starts the stream with the first tensor, or in the end without any.
func (b *streamBody) open() error {
	if b.w != nil {
		return nil
	}
	if b.e.o.Compression == MethodFloat16 {
		b.w = &halfWriter{out: &b.out}
		return nil
	}
	c, err := codecOf(b.e.o.Compression)
	if err != nil {
		return err
	}
	b.w, err = c.(codecs.Streamer).NewWriter(&b.out, b.e.o.Level, b.e.size)
	return err
}

func (b *streamBody) finish() (stored, error) {
	if err := b.open(); err != nil {
		return stored{}, err
	}
	if err := b.w.Close(); err != nil {
		return stored{}, err
	}
	s := stored{size: b.out.pos, sum: b.out.sum, original: b.raw.sum}
	if h, ok := b.w.(*halfWriter); ok {
		s.original = h.sum
	}
	return s, nil
}

// chunkBody compresses tensors in chunks, several at a time, in the order of the plan.
type chunkBody struct {
	e      *encoder
	out    appender
	chunks []chunk
	sum    uint32
	bufs   [][]byte
}

// tensor stores tensor i with the padding that follows it.
func (b *chunkBody) tensor(i int, in driver.Input) error {
	end := b.e.size
	if i+1 < len(b.e.offsets) {
		end = b.e.offsets[i+1]
	}
	pad := end - b.e.offsets[i] - in.Size()
	r := io.MultiReader(in, bytes.NewReader(padding[:pad]))
	if b.bufs == nil {
		b.bufs = make([][]byte, runtime.GOMAXPROCS(0))
	}
	for at := b.e.offsets[i]; at < end; {
		n := 0
		for ; n < len(b.bufs) && at < end; n++ {
			size := int(min(b.e.o.ChunkSize, end-at))
			if cap(b.bufs[n]) < size {
				b.bufs[n] = make([]byte, size)
			}
			b.bufs[n] = b.bufs[n][:size]
			if _, err := io.ReadFull(r, b.bufs[n]); err != nil {
				return err
			}
			b.chunks = append(b.chunks, chunk{offset: at, size: int64(size)})
			at += int64(size)
		}
		if err := b.store(b.bufs[:n], b.chunks[len(b.chunks)-n:]); err != nil {
			return err
		}
	}
	return nil
}

// store compresses some chunks in parallel and writes them in order.
func (b *chunkBody) store(bufs [][]byte, chunks []chunk) error {
	outs, sums := make([][]byte, len(bufs)), make([]uint32, len(bufs))
	err := work.Each(b.e.base.Context, len(bufs), 0, func(i int) (err error) {
		outs[i], sums[i], err = compress(b.e.o.Compression, bufs[i], b.e.o.Level)
		return err
	})
	if err != nil {
		return err
	}
	for i, out := range outs {
		c := &chunks[i]
		c.stored, c.storedSz, c.checksum = b.out.pos, int64(len(out)), tensor.CRC32(out)
		b.sum = tensor.CombineCRC32(b.sum, sums[i], c.size)
		if _, err := b.out.Write(out); err != nil {
			return err
		}
	}
	return nil
}

func (b *chunkBody) finish() (stored, error) {
	return stored{size: b.out.pos, sum: b.out.sum, original: b.sum, chunks: b.chunks}, nil
}

// lz4Body holds all weights, for they become one block.
type lz4Body struct {
	e   *encoder
	out appender
	raw []byte
}

func (b *lz4Body) tensor(i int, in driver.Input) error {
	b.gather()
	_, err := io.ReadFull(in, b.raw[b.e.offsets[i]:][:in.Size()])
	return err
}

func (b *lz4Body) gather() {
	if b.raw == nil {
		b.raw = make([]byte, b.e.size)
	}
}

func (b *lz4Body) finish() (stored, error) {
	b.gather()
	out, sum, err := compress(MethodLZ4, b.raw, b.e.o.Level)
	if err == nil {
		_, err = b.out.Write(out)
	}
	return stored{size: b.out.pos, sum: b.out.sum, original: sum}, err
}

// int8Body puts the weights aside: their range must be known before the first
// is stored.
type int8Body struct {
	e     *encoder
	out   appender
	aside driver.Target
}

func (b *int8Body) tensor(i int, in driver.Input) error {
	if b.aside == nil {
		if b.e.cipher != nil || b.e.o.Spool == format.SpoolMemory {
			b.aside = &sink.Memory{} // secrets touch no disk
		} else {
			file, err := sink.NewSpool()
			if err != nil {
				return err
			}
			b.aside = file
		}
	}
	return in.CopyTo(b.aside, b.e.offsets[i], nil)
}

// all reads the weights.
func (b *int8Body) all() io.Reader {
	if b.aside == nil {
		return bytes.NewReader(nil)
	}
	return sink.NewInput(b.e.base.Context, io.NewSectionReader(b.aside, 0, b.e.size), b.e.size, nil)
}

// finish goes through the weights twice: for their range, and to map them.
func (b *int8Body) finish() (stored, error) {
	var lo, hi float32
	err := eachFloats(b.all(), func(values []float32) error {
		lo, hi = rangeOf(values, lo, hi)
		return nil
	})
	if err != nil {
		return stored{}, err
	}
	q, err := newQuantizer(lo, hi)
	if err != nil {
		return stored{}, err
	}
	if _, err := b.out.Write(q.head()); err != nil {
		return stored{}, err
	}
	var out []byte
	err = eachFloats(b.all(), func(values []float32) error {
		out = q.append(out[:0], values)
		_, err := b.out.Write(out)
		return err
	})
	return stored{size: b.out.pos, sum: b.out.sum, original: q.sum}, err
}

// drop removes the temporary file.
func (b *int8Body) drop() {
	if file, ok := b.aside.(*sink.Spool); ok {
		file.Remove()
	}
	b.aside = nil
}
