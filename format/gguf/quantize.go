package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// quantizing is the driver that writes some tensors as Q8_0. Their bytes change on
// the way, so it is no Layouter, but it streams all the same: sizes are known.
type quantizing struct{ opts WriteOptions }

var (
	_ driver.Encoding  = quantizing{}
	_ driver.Streaming = quantizing{}
	_ driver.Lossy     = quantizing{}
)

// Describe implements driver.Driver.
func (quantizing) Describe() driver.Description { return fileFormat{}.Describe() }

// Detect implements driver.Driver.
func (quantizing) Detect(head []byte, size int64) bool { return fileFormat{}.Detect(head, size) }

// Parse implements driver.Driver.
func (quantizing) Parse(src driver.Source, x *driver.Index, o *driver.Options) (driver.File, error) {
	return parse(src, x, o)
}

// Losses implements driver.Lossy.
func (quantizing) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) { losses(p, l) }

// Streams implements driver.Streaming.
func (quantizing) Streams(*driver.Plan, *driver.WriteOptions) bool { return true }

// Configure implements driver.Configurable.
func (d quantizing) Configure(own any, s *driver.Storage) (driver.Driver, error) {
	return d.opts.configure(own, s)
}

// checkQuantize says why a tensor cannot be written as Q8_0.
func checkQuantize(t *tensor.Info) error {
	switch t.DType {
	case tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64:
	default:
		return fmt.Errorf("%w: %s elements cannot be quantized", format.ErrDType, t.TypeName())
	}
	_, err := elementTypes[codeQ8_0].bytes(t.Shape)
	return err
}

// quantizer writes a file whose tensors are quantized where to says so and from
// does not.
type quantizer struct {
	t        driver.Target
	from, to []tensor.Info
	layout   *driver.Layout
}

// Encode implements driver.Encoding.
func (d quantizing) Encode(t driver.Target, p *driver.Plan, _ *driver.WriteOptions) (driver.Encoder, error) {
	to := &driver.Plan{Metadata: p.Metadata, Tensors: append([]tensor.Info(nil), p.Tensors...)}
	some := false
	for i := range to.Tensors {
		q := &to.Tensors[i]
		if !d.opts.Quantize(*q) {
			continue
		}
		if err := checkQuantize(q); err != nil {
			return nil, refuse(fmt.Sprintf("tensor %q", q.Name), format.ErrUnsupported, "%v", err)
		}
		q.DType, q.Encoding, some = tensor.Invalid, elementTypes[codeQ8_0].encoding, true
		q.Size, _ = q.ByteSize()
	}
	if _, has := p.Metadata.Get(keyQuantVersion); some && !has {
		to.Metadata = append(append(driver.Metadata{}, p.Metadata...), driver.Entry{Key: keyQuantVersion, Value: uint32(2)})
	}
	l, err := layout(to, &d.opts)
	if err != nil {
		return nil, err
	}
	for _, part := range l.Parts {
		if _, err := t.WriteAt(part.Bytes, part.Offset); err != nil {
			return nil, err
		}
	}
	return &quantizer{t, p.Tensors, to.Tensors, l}, nil
}

// Tensor implements driver.Encoder.
func (q *quantizer) Tensor(i int, in driver.Input) error {
	at, d := q.layout.Offsets[i], q.from[i].DType
	if q.to[i].Encoding == q.from[i].Encoding {
		return in.CopyTo(q.t, at, nil)
	}
	// Pieces end anywhere; what is left of one waits for the next.
	block := int(d.Size()) * 32
	var rest, out []byte
	err := in.Each(func(p []byte) error {
		rest, out = append(rest, p...), out[:0]
		n := len(rest) / block * block
		for b := rest[:n]; len(b) > 0; b = b[block:] {
			var err error
			if out, err = appendQ8_0(out, b[:block], d); err != nil {
				return err
			}
		}
		rest = rest[:copy(rest, rest[n:])]
		_, err := q.t.WriteAt(out, at)
		at += int64(len(out))
		return err
	})
	return err
}

// Finish implements driver.Encoder.
func (q *quantizer) Finish() error { return q.t.Truncate(q.layout.Size) }

// appendQ8_0 appends the block of 32 elements, as the reference computes it: the
// scale is a 127th of the largest, and halves are rounded away from zero.
func appendQ8_0(out, b []byte, d tensor.DType) ([]byte, error) {
	var x [32]float32
	most := float32(0)
	for i := range x {
		x[i] = element(b, i, d)
		a := float32(math.Abs(float64(x[i])))
		if a != a || a > most {
			most = a
		}
		if most != most || math.IsInf(float64(most), 0) {
			return nil, fmt.Errorf("%w: values that are not finite cannot be quantized", format.ErrUnsupported)
		}
	}
	scale := most / 127
	stored := tensor.F16From(scale)
	if math.IsInf(float64(stored.Float32()), 0) {
		return nil, fmt.Errorf("%w: %g is too large for Q8_0", format.ErrUnsupported, most)
	}
	inverse := float32(0)
	if stored != 0 {
		inverse = 1 / scale
	}
	out = binary.LittleEndian.AppendUint16(out, uint16(stored))
	for _, v := range x {
		out = append(out, byte(int8(math.Round(float64(v*inverse)))))
	}
	return out, nil
}

// element returns float element i of b.
func element(b []byte, i int, d tensor.DType) float32 {
	le := binary.LittleEndian
	switch d {
	case tensor.Float16:
		return tensor.F16(le.Uint16(b[2*i:])).Float32()
	case tensor.BFloat16:
		return tensor.BF16(le.Uint16(b[2*i:])).Float32()
	case tensor.Float64:
		return float32(math.Float64frombits(le.Uint64(b[8*i:])))
	}
	return math.Float32frombits(le.Uint32(b[4*i:]))
}
