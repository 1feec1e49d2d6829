package main

import (
	"math"

	"github.com/weightmap/weightmap/tensor"
)

// decodable reports whether the elements of a tensor can be had as numbers, piece
// by piece.
func decodable(info *tensor.Info) bool {
	e := info.Encoding
	if e == nil {
		return info.DType.Valid()
	}
	size, err := e.Bytes(info.Shape)
	return e.Decode != nil && err == nil && size == info.Size && pieceElems%e.BlockElems == 0
}

// decodeBlocks decodes a piece of a decodable tensor that has an encoding. Slices of
// such a tensor are not to be had, but its blocks are.
func decodeBlocks(dst []float32, v tensor.View, p piece) ([]float32, error) {
	e := v.Info().Encoding
	b := make([]byte, p.n/e.BlockElems*e.BlockBytes)
	if _, err := v.ReadAt(b, p.at/e.BlockElems*e.BlockBytes); err != nil {
		return nil, err
	}
	dst = resize(dst, p.n)
	return dst, e.Decode(dst, b)
}

// resize returns a slice of n elements, the same one where it has room.
func resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// reader decodes a tensor of any type into float64, piece by piece, with memory
// for one of them. Quantized elements are the real numbers they stand for, complex
// numbers two of them.
type reader struct {
	v       tensor.View
	d       *data
	out     []float64
	single  []float32
	complex []complex64
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
	part, err := r.v.Slice(p.ranges...)
	if err != nil {
		return nil, err
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

// bytesOf returns how many bytes a piece takes in a tensor, about.
func bytesOf(v tensor.View, p piece) int64 {
	return int64(float64(p.n) / float64(max(1, v.Len())) * float64(v.Info().Size))
}

// measure is how far the values of two tensors are from one another. A NaN equals a
// NaN, an infinity itself, and -0 is 0.
type measure struct {
	tolerance float64
	count     int64   // values compared
	differ    int64   // those that are further apart than the tolerance
	nan       int64   // those where one of the two is NaN
	max, sum  float64 // of absolute differences, without NaN
	ab        float64 // scalar products of the finite values
	aa, bb    float64
}

// add compares two values whose absolute difference is d.
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
	}
	if d > m.tolerance {
		m.differ++
	}
	m.sum += d
	m.max = max(m.max, d)
}

// mean returns the mean absolute difference, in which a NaN on both sides counts as
// none and one on one side not at all.
func (m *measure) mean() float64 { return m.sum / float64(max(1, m.count-m.nan)) }

// cosine returns the cosine similarity of the finite values: 1 for two vectors of
// zeros, 0 when one is, NaN when the numbers are too large for it.
func (m *measure) cosine() float64 {
	switch {
	case m.aa == 0 && m.bb == 0:
		return 1
	case m.aa == 0 || m.bb == 0:
		return 0
	}
	return min(1, max(-1, m.ab/math.Sqrt(m.aa)/math.Sqrt(m.bb)))
}

// canCompare reports whether two tensors have as many values, and the means to get them.
func canCompare(a, b *tensor.Info) bool {
	return a.Shape.Equal(b.Shape) && decodable(a) && decodable(b) && (a.DType == tensor.Complex64) == (b.DType == tensor.Complex64)
}

// compareValues measures two tensors that can be compared.
func compareValues(a, b *side, va, vb tensor.View, tolerance float64) (*measure, error) {
	m := &measure{tolerance: tolerance}
	ia, ib := va.Info(), vb.Info()
	if ia.DType == ib.DType && ia.Quant == nil && ib.Quant == nil {
		// A float64 does not tell large integers of 64 bits apart.
		switch ia.DType {
		case tensor.Int64:
			return m, compareIntegers[int64](m, a.data, b.data, va, vb)
		case tensor.Uint64:
			return m, compareIntegers[uint64](m, a.data, b.data, va, vb)
		}
	}
	ra, rb := &reader{v: va, d: a.data}, &reader{v: vb, d: b.data}
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
	return m, nil
}

// compareIntegers is compareValues for integers of 64 bits.
func compareIntegers[T int64 | uint64](m *measure, a, b *data, va, vb tensor.View) error {
	var x, y []T
	for p := range pieces(va.Shape()) {
		for _, side := range []struct {
			d   *data
			v   tensor.View
			out *[]T
		}{{a, va, &x}, {b, vb, &y}} {
			if err := side.d.ctx.Err(); err != nil {
				return err
			}
			side.d.Used(bytesOf(side.v, p))
			part, err := side.v.Slice(p.ranges...)
			if err != nil {
				return err
			}
			if *side.out, err = tensor.Decode(*side.out, part); err != nil {
				return err
			}
		}
		for i := range x {
			lo, hi := min(x[i], y[i]), max(x[i], y[i])
			// The difference of two int64 always fits a uint64.
			m.add(float64(x[i]), float64(y[i]), float64(uint64(hi)-uint64(lo)))
		}
	}
	return nil
}
