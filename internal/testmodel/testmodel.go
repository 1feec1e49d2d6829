// Package testmodel makes models for tests and benchmarks: names, shapes and
// weights as trained networks have them, the same on every run.
//
// Weights are normal with the spread of He initialization, sqrt(2/fan-in), and
// each output channel has a spread of its own around that, as training leaves
// it. Normalization parameters are around 1 and 0.
package testmodel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/weightmap/weightmap/tensor"
)

// Tensor is a float32 tensor of a model.
type Tensor struct {
	Name  string
	Shape tensor.Shape
	Data  []float32 // row-major
}

// Bytes returns the data as they stand in files: little-endian.
func (t Tensor) Bytes() []byte {
	b := make([]byte, 4*len(t.Data))
	for i, f := range t.Data {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
	}
	return b
}

// Info describes t for a write plan.
func (t Tensor) Info() tensor.Info {
	return tensor.Info{Name: t.Name, DType: tensor.Float32, Shape: t.Shape, Size: int64(4 * len(t.Data))}
}

// Spec describes a tensor whose values are made when they are asked for, so
// that large models need not be held in memory.
type Spec struct {
	Name  string
	Shape tensor.Shape

	kind kind
	seed uint64 // of the model
	id   uint64 // of the tensor in it
}

// kind says how values are spread.
type kind uint8

const (
	weight   kind = iota // around 0, by fan-in
	bias                 // around 0, small
	gain                 // around 1
	variance             // around 1, positive
	mask                 // 1 on and below the diagonal of the last two dims, 0 above
)

// Len returns the number of elements.
func (s Spec) Len() int {
	n := 1
	for _, d := range s.Shape {
		n *= int(d)
	}
	return n
}

// Info describes s for a write plan.
func (s Spec) Info() tensor.Info {
	return tensor.Info{Name: s.Name, DType: tensor.Float32, Shape: s.Shape, Size: int64(4 * s.Len())}
}

// Tensor makes the values.
func (s Spec) Tensor() Tensor {
	t := Tensor{Name: s.Name, Shape: s.Shape, Data: make([]float32, s.Len())}
	s.Fill(t.Data)
	return t
}

// Fill makes the values in dst, which has Len elements.
func (s Spec) Fill(dst []float32) {
	r := rand.New(rand.NewPCG(s.seed, s.id))
	switch s.kind {
	case weight:
		s.fillWeight(dst, r)
	case bias:
		for i := range dst {
			dst[i] = float32(r.NormFloat64() * 0.05)
		}
	case gain:
		for i := range dst {
			dst[i] = 1 + float32(r.NormFloat64()*0.1)
		}
	case variance:
		for i := range dst {
			dst[i] = float32(math.Exp(r.NormFloat64() * 0.3))
		}
	case mask:
		n := int(s.Shape[len(s.Shape)-1])
		for i := range dst {
			dst[i] = 0
			if i%n <= i/n {
				dst[i] = 1
			}
		}
	}
}

func (s Spec) fillWeight(dst []float32, r *rand.Rand) {
	fan := len(dst) / int(s.Shape[0])
	he := math.Sqrt(2 / float64(fan))
	for len(dst) > 0 {
		std := he * (0.6 + float64(0.8*r.Float64())) // not fused: the same on every processor
		for i := range dst[:fan] {
			dst[i] = float32(r.NormFloat64() * std)
		}
		dst = dst[fan:]
	}
}

// All makes the values of all specs.
func All(specs []Spec) []Tensor {
	ts := make([]Tensor, len(specs))
	for i, s := range specs {
		ts[i] = s.Tensor()
	}
	return ts
}
