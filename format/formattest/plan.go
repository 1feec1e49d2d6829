package formattest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// PlanOptions controls RandomPlan.
type PlanOptions struct {
	DTypes  []tensor.DType // nil means all
	Tensors int            // 0 means 5
	MinRank int
	Zero    bool // use dims of 0, too
	Name    func(r *rand.Rand, i int) string
}

// RandomPlan returns a plan of tensors with random shapes of up to 4 dims, without metadata and graph. The
// same state of r gives the same plan.
func RandomPlan(r *rand.Rand, o PlanOptions) *format.Plan {
	if o.DTypes == nil {
		for d := tensor.Invalid + 1; d.Valid(); d++ {
			o.DTypes = append(o.DTypes, d)
		}
	}
	if o.Tensors == 0 {
		o.Tensors = 5
	}
	if o.Name == nil {
		o.Name = randomName
	}
	p := &format.Plan{}
	for i := range o.Tensors {
		shape := make(tensor.Shape, o.MinRank+r.IntN(4-o.MinRank+1))
		for j := range shape {
			shape[j] = 1 + r.Int64N(7)
			if o.Zero && r.IntN(8) == 0 {
				shape[j] = 0
			}
		}
		p.Tensors = append(p.Tensors, tensor.Info{Name: o.Name(r, i), DType: o.DTypes[r.IntN(len(o.DTypes))], Shape: shape})
	}
	return p
}

// randomName returns a name of random length and script; i makes it unique.
func randomName(r *rand.Rand, i int) string {
	stems := []string{"w", "layer.bias", "decoder.blocks.attention.output.weight", "encoder/0/attention.weight", "Größe", "重み", "with space", "\"quoted\"\n", "😀"}
	return stems[r.IntN(len(stems))] + "." + strconv.Itoa(i)
}

// Decimal returns i in decimal. Use it as PlanOptions.Name for formats that number their tensors.
func Decimal(_ *rand.Rand, i int) string { return strconv.Itoa(i) }

// LongName returns a name like those of large models, longer than the 32 bytes that the compiler
// can keep on the stack. The names of the first thousand tensors have the same length.
func LongName(_ *rand.Rand, i int) string {
	return fmt.Sprintf("encoder.layer.%03d.attention.self.query.weight", i)
}

// scale is the default for Config.Scale.
func scale(n int, elems int64) *format.Plan {
	p := &format.Plan{Tensors: make([]tensor.Info, n)}
	for i := range p.Tensors {
		p.Tensors[i] = tensor.Info{Name: LongName(nil, i), DType: tensor.Float32, Shape: tensor.Shape{elems}}
	}
	return p
}

// Fill returns bytes for a tensor, which depend only on its name: values from -1 to 1 for
// floating-point dtypes, 0 or 1 for bool, any value for integers.
func Fill(t tensor.Info) []byte {
	size, err := t.ByteSize()
	if err != nil {
		panic(fmt.Sprintf("formattest: tensor %q of a sample: %v", t.Name, err))
	}
	if t.Encoding != nil {
		t.DType = tensor.Uint8
	}
	h := fnv.New64a()
	h.Write([]byte(t.Name))
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(t.DType)))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	switch t.DType {
	case tensor.Bool:
		for i := range b {
			b[i] &= 1
		}
	case tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16:
		values := make([]float64, size/t.DType.Size())
		for i := range values {
			values[i] = 2*r.Float64() - 1
		}
		if err := tensor.Encode(b, t.DType, values); err != nil {
			panic(fmt.Sprintf("formattest: tensor %q of a sample: %v", t.Name, err))
		}
	}
	return b
}

// FillBits returns arbitrary bytes for a tensor, which depend only on its name. They include NaNs
// with payloads, infinities and subnormals.
func FillBits(t tensor.Info) []byte {
	size, err := t.ByteSize()
	if err != nil {
		panic(fmt.Sprintf("formattest: tensor %q of a sample: %v", t.Name, err))
	}
	return Fill(tensor.Info{Name: t.Name, DType: tensor.Uint8, Shape: tensor.Shape{size}})
}
