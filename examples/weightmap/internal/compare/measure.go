package compare

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/tensor"
)

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
	return a.Shape.Equal(b.Shape) && modelfile.Decodable(a) && modelfile.Decodable(b) &&
		(a.DType == tensor.Complex64) == (b.DType == tensor.Complex64)
}

// compareValues compares the values of two tensors, for which canCompare must be true.
func compareValues(a, b *comparedModel, va, vb tensor.View, tolerance float64) (*measure, error) {
	m := &measure{tolerance: tolerance}
	ia := va.Info()
	ib := vb.Info()
	if ia.DType == ib.DType && ia.Quant == nil && ib.Quant == nil {
		// float64 would round large 64-bit integers.
		switch ia.DType {
		case tensor.Int64:
			return m, compareIntegers[int64](m, a.data, b.data, va, vb)
		case tensor.Uint64:
			return m, compareIntegers[uint64](m, a.data, b.data, va, vb)
		}
	}
	ra, err := modelfile.NewReader(a.data, va)
	if err != nil {
		return nil, err
	}
	defer ra.Close()
	rb, err := modelfile.NewReader(b.data, vb)
	if err != nil {
		return nil, err
	}
	defer rb.Close()
	for p := range modelfile.Pieces(ia.Shape) {
		x, err := ra.Read(p)
		if err != nil {
			return nil, err
		}
		y, err := rb.Read(p)
		if err != nil {
			return nil, err
		}
		for i := range x {
			m.add(x[i], y[i], math.Abs(x[i]-y[i]))
		}
	}
	m.a = saturationOf(ra)
	m.b = saturationOf(rb)
	return m, nil
}

// compareIntegers is compareValues for 64-bit integers.
func compareIntegers[T int64 | uint64](m *measure, a, b *modelfile.TensorReader, va,
	vb tensor.View) error {
	var x, y []T
	ra, err := modelfile.NewReader(a, va)
	if err != nil {
		return err
	}
	defer ra.Close()
	rb, err := modelfile.NewReader(b, vb)
	if err != nil {
		return err
	}
	defer rb.Close()
	for p := range modelfile.Pieces(va.Shape()) {
		for _, side := range []struct {
			r   *modelfile.Reader
			out *[]T
		}{{ra, &x}, {rb, &y}} {
			if err := side.r.D.Ctx.Err(); err != nil {
				return err
			}
			side.r.D.Used(modelfile.BytesOf(side.r.V, p))
			part, err := side.r.Part(p)
			if err != nil {
				return err
			}
			*side.out, err = tensor.Decode(*side.out, part)
			if err != nil {
				return err
			}
		}
		for i := range x {
			lo := min(x[i], y[i])
			hi := max(x[i], y[i])
			// The difference of two int64 always fits in a uint64.
			m.add(float64(x[i]), float64(y[i]), float64(uint64(hi)-uint64(lo)))
		}
	}
	return nil
}

// saturationOf returns the counts of what was read.
func saturationOf(r *modelfile.Reader) saturation {
	if !modelfile.IsQuantized(r.V) {
		return saturation{}
	}
	return saturation{true, r.Limits, r.V.Elems()}
}
