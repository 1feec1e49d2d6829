package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// decodable reports whether a tensor can be decoded piece by piece.
func decodable(info *tensor.Info) bool {
	e := info.Encoding
	if e == nil {
		return info.DType.Valid()
	}
	size, err := e.Bytes(info.Shape)
	return e.Decode != nil && err == nil && size == info.Size
}

// decodeBlocks decodes a piece of a decodable tensor with an encoding, which may not be sliced.
func decodeBlocks(dst []float32, v tensor.View, p piece) ([]float32, error) {
	dst = resize(dst, p.n)
	return dst, tensor.DecodeAt(dst, v, p.at)
}

// resize returns a slice of n elements, reusing s if it is large enough.
func resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// reader decodes a tensor of any type to float64, a piece at a time. Quantized elements are
// dequantized; a complex number becomes two values.
type reader struct {
	v       tensor.View
	d       *tensorReader
	in      *sequence // nil if pieces are read from v
	raw     []byte
	out     []float64
	single  []float32
	complex []complex64
	limits  int64 // quantized integers at the limits of their type so far
}

func (r *reader) read(p piece) ([]float64, error) {
	err := r.d.ctx.Err()
	if err != nil {
		return nil, err
	}
	defer r.d.Used(bytesOf(r.v, p))
	if r.v.Info().Encoding != nil {
		if r.single, err = decodeBlocks(r.single, r.v, p); err != nil {
			return nil, err
		}
		r.out = resize(r.out, p.n)
		for i, x := range r.single {
			r.out[i] = float64(x)
		}
		return r.out, nil
	}
	part, err := r.part(p)
	if err != nil {
		return nil, err
	}
	if isQuantized(r.v) {
		err := r.countLimits(part)
		if err != nil {
			return nil, err
		}
	}
	if part.DType() != tensor.Complex64 {
		r.out, err = tensor.Decode(r.out, part)
		return r.out, err
	}
	if r.complex, err = tensor.Decode(r.complex, part); err != nil {
		return nil, err
	}
	r.out = resize(r.out, 2*p.n)
	for i, x := range r.complex {
		r.out[2*i], r.out[2*i+1] = float64(real(x)), float64(imag(x))
	}
	return r.out, nil
}

// isQuantized reports whether a tensor has quantized integers of 8 or 16 bits.
func isQuantized(v tensor.View) bool {
	info := v.Info()
	return info.Quant != nil && info.Encoding == nil && (info.DType.Size() == 1 || info.DType.Size() == 2)
}

// countLimits counts the integers of a part of a quantized tensor that have the limits of their
// type, where quantization cuts off larger numbers. Without zero points, -127 is a limit like -128.
func (r *reader) countLimits(part tensor.View) error {
	if r.in == nil {
		r.raw = resize(r.raw, part.Info().Size)
		_, err := part.ReadIntoContext(r.d.ctx, r.raw)
		if err != nil {
			return err
		}
	}
	info := r.v.Info()
	symmetric := int64(0)
	if !slices.ContainsFunc(info.Quant.ZeroPoints, func(z int32) bool { return z != 0 }) {
		symmetric = 1
	}
	size := int(info.DType.Size())
	highest := int64(1)<<(8*size) - 1
	lowest := int64(0)
	signed := info.DType == tensor.Int8 || info.DType == tensor.Int16
	if signed {
		highest /= 2
		lowest = symmetric - highest - 1
	}
	for e := range slices.Chunk(r.raw, size) {
		x := int64(e[0])
		if size == 2 {
			x |= int64(e[1]) << 8
		}
		if signed && x > highest {
			x -= 1 << (8 * size)
		}
		if x <= lowest || x >= highest {
			r.limits++
		}
	}
	return nil
}

// newReader starts reading the values of a tensor. The caller must close it.
func newReader(d *tensorReader, v tensor.View) (*reader, error) {
	r := &reader{v: v, d: d}
	var err error
	if streams(v) == nil || v.Info().Encoding != nil {
		r.v, err = d.Tensor(v)
		return r, err
	}
	r.in, err = d.sequence(v)
	return r, err
}

func (r *reader) close() {
	if r.in != nil {
		r.in.close()
	}
}

// part returns a view of the elements of a piece.
func (r *reader) part(p piece) (tensor.View, error) {
	if r.in == nil {
		return r.v.Slice(p.ranges...)
	}
	info := r.v.Info()
	r.raw = resize(r.raw, p.n*info.DType.Size())
	if _, err := io.ReadFull(r.in, r.raw); err != nil {
		return tensor.View{}, err
	}
	info.Quant = sliceQuant(&info, p)
	info.Shape = make(tensor.Shape, len(p.ranges))
	for i, g := range p.ranges {
		info.Shape[i] = g.To - g.From
	}
	return tensor.FromInfo(info, r.raw)
}

// sliceQuant returns the quantization of the elements of a piece.
func sliceQuant(info *tensor.Info, p piece) *tensor.Quantization {
	q := info.Quant
	if q == nil || q.Axis < 0 || q.Axis >= len(info.Shape) || int64(len(q.Scales)) != info.Shape[q.Axis] {
		return q
	}
	g := p.ranges[q.Axis]
	c := *q
	c.Scales = q.Scales[g.From:g.To]
	if len(q.ZeroPoints) == len(q.Scales) {
		c.ZeroPoints = q.ZeroPoints[g.From:g.To]
	}
	return &c
}

// bytesOf returns the approximate size of a piece in bytes.
func bytesOf(v tensor.View, p piece) int64 {
	return int64(float64(p.n) / float64(max(1, v.Elems())) * float64(v.Info().Size))
}

// measure accumulates the differences of two tensors' values. NaN equals NaN, an infinity equals
// itself, and -0 equals 0.
type measure struct {
	tolerance float64
	count     int64   // number of values
	differ    int64   // values that differ by more than the tolerance
	nan       int64   // values where only one side is NaN
	max, sum  float64 // of absolute differences, without NaN
	ab        float64 // dot products of the finite values
	aa, bb    float64
	squares   float64 // sum of the squared differences of the finite values
	a, b      saturation
}

// saturation counts the quantized integers of a tensor that are at the limits of their type.
type saturation struct {
	quantized bool
	limits    int64
	count     int64
}

// percent formats the share at the limits.
func (s saturation) percent() string {
	return fmt.Sprintf("%.2f %%", 100*float64(s.limits)/float64(max(1, s.count)))
}

func (r *reader) saturation() saturation {
	if !isQuantized(r.v) {
		return saturation{}
	}
	return saturation{true, r.limits, r.v.Elems()}
}

// join adds the counts of another tensor.
func (s saturation) join(o saturation) saturation {
	return saturation{s.quantized || o.quantized, s.limits + o.limits, s.count + o.count}
}

// join adds the differences of another tensor.
func (m *measure) join(o *measure) {
	m.count += o.count
	m.differ += o.differ
	m.nan += o.nan
	m.max = max(m.max, o.max)
	m.sum += o.sum
	m.ab += o.ab
	m.aa += o.aa
	m.bb += o.bb
	m.squares += o.squares
	m.a = m.a.join(o.a)
	m.b = m.b.join(o.b)
}

// nmse returns the normalized mean square error of the finite values of B: the squared differences
// relative to the squares of A.
func (m *measure) nmse() float64 {
	if m.squares == 0 {
		return 0
	}
	return m.squares / m.aa
}

// add adds two values with the absolute difference d.
func (m *measure) add(a, b, d float64) {
	m.count++
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		if math.IsNaN(a) != math.IsNaN(b) {
			m.nan++
			m.differ++
		}
		return
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		if a == b {
			return
		}
		d = math.Inf(1)
	default:
		m.ab += a * b
		m.aa += a * a
		m.bb += b * b
		m.squares += d * d
	}
	if d > m.tolerance {
		m.differ++
	}
	m.sum += d
	m.max = max(m.max, d)
}

// mean returns the mean absolute difference. NaN on both sides counts as 0; NaN on one side is left
// out.
func (m *measure) mean() float64 { return m.sum / float64(max(1, m.count-m.nan)) }

// cosine returns the cosine similarity of the finite values: 1 if both vectors are zero, 0 if one
// is, NaN on overflow.
func (m *measure) cosine() float64 {
	switch {
	case m.aa == 0 && m.bb == 0:
		return 1
	case m.aa == 0 || m.bb == 0:
		return 0
	}
	return min(1, max(-1, m.ab/math.Sqrt(m.aa)/math.Sqrt(m.bb)))
}

// canCompare reports whether two tensors have the same number of values and can be decoded.
func canCompare(a, b *tensor.Info) bool {
	return a.Shape.Equal(b.Shape) && decodable(a) && decodable(b) && (a.DType == tensor.Complex64) == (b.DType == tensor.Complex64)
}

// compareValues compares the values of two tensors, for which canCompare must be true.
func compareValues(a, b *comparedModel, va, vb tensor.View, tolerance float64) (*measure, error) {
	m := &measure{tolerance: tolerance}
	ia, ib := va.Info(), vb.Info()
	if ia.DType == ib.DType && ia.Quant == nil && ib.Quant == nil {
		// float64 would round large 64-bit integers.
		switch ia.DType {
		case tensor.Int64:
			return m, compareIntegers[int64](m, a.data, b.data, va, vb)
		case tensor.Uint64:
			return m, compareIntegers[uint64](m, a.data, b.data, va, vb)
		}
	}
	ra, err := newReader(a.data, va)
	if err != nil {
		return nil, err
	}
	defer ra.close()
	rb, err := newReader(b.data, vb)
	if err != nil {
		return nil, err
	}
	defer rb.close()
	for p := range pieces(ia.Shape) {
		x, err := ra.read(p)
		if err != nil {
			return nil, err
		}
		y, err := rb.read(p)
		if err != nil {
			return nil, err
		}
		for i := range x {
			m.add(x[i], y[i], math.Abs(x[i]-y[i]))
		}
	}
	m.a = ra.saturation()
	m.b = rb.saturation()
	return m, nil
}

// compareIntegers is compareValues for 64-bit integers.
func compareIntegers[T int64 | uint64](m *measure, a, b *tensorReader, va, vb tensor.View) error {
	var x, y []T
	ra, err := newReader(a, va)
	if err != nil {
		return err
	}
	defer ra.close()
	rb, err := newReader(b, vb)
	if err != nil {
		return err
	}
	defer rb.close()
	for p := range pieces(va.Shape()) {
		for _, side := range []struct {
			r   *reader
			out *[]T
		}{{ra, &x}, {rb, &y}} {
			if err := side.r.d.ctx.Err(); err != nil {
				return err
			}
			side.r.d.Used(bytesOf(side.r.v, p))
			part, err := side.r.part(p)
			if err != nil {
				return err
			}
			if *side.out, err = tensor.Decode(*side.out, part); err != nil {
				return err
			}
		}
		for i := range x {
			lo, hi := min(x[i], y[i]), max(x[i], y[i])
			// The difference of two int64 always fits in a uint64.
			m.add(float64(x[i]), float64(y[i]), float64(uint64(hi)-uint64(lo)))
		}
	}
	return nil
}
