// Package testmodel generates models for tests and benchmarks. Names, shapes and weights resemble
// trained networks and are the same in every run.
//
// Weights are normally distributed with the standard deviation of He initialization, sqrt(2/fan-in),
// varied by output channel as training does. Normalization parameters are around 1 and 0.
package testmodel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/weightmap/weightmap/tensor"
)

// Tensor describes a float32 tensor whose values are generated on demand, so that large models need
// not fit in memory.
type Tensor struct {
	Name  string
	Shape tensor.Shape

	mean, std float64 // of the values; without std they are weights around 0, by fan-in
	seed, id  uint64  // the model's, and the tensor's within the model
}

// Len returns the number of elements.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= int(d)
	}
	return n
}

// Info returns the description of t for a plan.
func (t Tensor) Info() tensor.Info {
	return tensor.Info{Name: t.Name, DType: tensor.Float32, Shape: t.Shape, Size: int64(4 * t.Len())}
}

// Bytes generates the values in little-endian byte order.
func (t Tensor) Bytes() []byte {
	b := make([]byte, 0, 4*t.Len())
	for _, f := range t.Data() {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// Data generates the values in row-major order.
func (t Tensor) Data() []float32 {
	r := rand.New(rand.NewPCG(t.seed, t.id))
	data := make([]float32, t.Len())
	if t.std == 0 {
		t.fillWeight(data, r)
		return data
	}
	for i := range data {
		data[i] = float32(t.mean + float64(r.NormFloat64()*t.std))
	}
	return data
}

func (t Tensor) fillWeight(dst []float32, r *rand.Rand) {
	fan := len(dst) / int(t.Shape[0])
	he := math.Sqrt(2 / float64(fan))
	for len(dst) > 0 {
		std := he * (0.6 + float64(0.8*r.Float64())) // no fused multiply-add: same result on every processor
		for i := range dst[:fan] {
			dst[i] = float32(r.NormFloat64() * std)
		}
		dst = dst[fan:]
	}
}
