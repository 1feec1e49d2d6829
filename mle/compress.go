package mle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
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
