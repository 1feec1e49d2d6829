package mle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// compress returns the stored form of b and the CRC-32 of what readers will
// make of it, which for lossy methods is not that of b.
func compress(m Method, b []byte, level int) (out []byte, sum uint32, err error) {
	switch m {
	case MethodInt8:
		floats := floatsOf(nil, b)
		lo, hi := rangeOf(floats, 0, 0)
		q, err := newQuantizer(lo, hi)
		if err != nil {
			return nil, 0, err
		}
		out = q.append(q.head(), floats)
		return out, q.sum, nil
	case MethodFloat16:
		if out, err = halves(b); err != nil {
			return nil, 0, err
		}
		back := make([]byte, len(b))
		err = expand(m, back, out)
		return out, tensor.CRC32(back), err
	}
	c, err := codecOf(m)
	if err != nil {
		return nil, 0, err
	}
	out, err = c.Compress(b, level)
	return out, tensor.CRC32(b), err
}

// floatsOf appends the little-endian floats of b.
func floatsOf(dst []float32, b []byte) []float32 {
	for ; len(b) >= 4; b = b[4:] {
		dst = append(dst, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return dst
}

// rangeOf widens lo and hi to hold all values; a NaN stays in either.
func rangeOf(values []float32, lo, hi float32) (float32, float32) {
	for _, x := range values {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// quantizer maps floats to bytes with one scale and zero point.
type quantizer struct {
	scale float32
	zero  uint8
	sum   uint32 // CRC-32 of the floats that the bytes stand for
	back  []byte
}

// newQuantizer fits the range from lo to hi, which includes 0.
func newQuantizer(lo, hi float32) (*quantizer, error) {
	_, q, _, err := tensor.Quantize([]float32{lo, hi}, tensor.Shape{2}, tensor.QuantizeOptions{DType: tensor.Uint8, Asymmetric: true})
	if err != nil {
		return nil, err
	}
	return &quantizer{scale: q.Scales[0], zero: uint8(q.ZeroPoints[0])}, nil
}

// head returns what precedes the bytes.
func (q *quantizer) head() []byte {
	var w wire.Buffer
	w.F32(q.scale)
	w.U8(q.zero)
	w.Fill(3, 0)
	return w.Bytes()
}

// append appends the bytes for values, rounded half to even, and sums up what
// they stand for.
func (q *quantizer) append(dst []byte, values []float32) []byte {
	q.back = q.back[:0]
	for _, x := range values {
		v := math.RoundToEven(float64(x)/float64(q.scale)) + float64(q.zero)
		v = min(max(v, 0), 255)
		dst = append(dst, byte(v))
		real := float32((v - float64(q.zero)) * float64(q.scale))
		q.back = binary.LittleEndian.AppendUint32(q.back, math.Float32bits(real))
	}
	q.sum = tensor.UpdateCRC32(q.sum, q.back)
	return dst
}

// halves converts floats to IEEE halves. A finite value that only infinity
// could stand for is refused.
func halves(b []byte) ([]byte, error) {
	floats := floatsOf(make([]float32, 0, len(b)/4), b)
	out, _, stats, err := tensor.Quantize(floats, tensor.Shape{int64(len(floats))}, tensor.QuantizeOptions{DType: tensor.Float16})
	if err == nil && math.IsInf(stats.MaxAbs, 0) {
		err = fmt.Errorf("%w: a value is beyond the range of float16", format.ErrQuantization)
	}
	return out, err
}

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

// halfWriter converts floats to halves in pieces that do not depend on how
// they are written.
type halfWriter struct {
	out  io.Writer
	held []byte // the beginning of a float
	sum  uint32 // CRC-32 of the floats that the halves stand for
}

func (h *halfWriter) Write(p []byte) (int, error) {
	h.held = append(h.held, p...)
	whole := len(h.held) &^ 3
	out, sum, err := compress(MethodFloat16, h.held[:whole], 0)
	if err != nil {
		return 0, err
	}
	h.sum = tensor.CombineCRC32(h.sum, sum, int64(whole))
	h.held = append(h.held[:0], h.held[whole:]...)
	if _, err := h.out.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (h *halfWriter) Close() error { return nil }

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
	return in.CopyTo(b.aside, b.e.offsets[i])
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

// eachFloats reads little-endian floats and hands them on in pieces.
func eachFloats(r io.Reader, fn func([]float32) error) error {
	buf := make([]byte, 256<<10)
	var values []float32
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			values = floatsOf(values[:0], buf[:n])
			if err := fn(values); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return err
		}
	}
}
