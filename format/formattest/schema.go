package formattest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// SchemaOptions controls RandomSchema.
type SchemaOptions struct {
	DTypes  []tensor.DType // nil means all
	Tensors int            // 0 means 5
	MinRank int            // the least rank of a tensor
	Zero    bool           // use dims of 0, too
	Name    string         // a format of package fmt for the number of a tensor; "" means names of many kinds
}

// RandomSchema returns a schema of tensors with random shapes of up to 4 dims, without metadata and
// graph. The same state of r, which is of package math/rand/v2, gives the same schema.
func RandomSchema(r *rand.Rand, o SchemaOptions) *schema.Schema {
	if o.DTypes == nil {
		for d := tensor.Invalid + 1; d.Valid(); d++ {
			o.DTypes = append(o.DTypes, d)
		}
	}
	if o.Tensors == 0 {
		o.Tensors = 5
	}
	p := &schema.Schema{}
	for i := range o.Tensors {
		shape := make(tensor.Shape, o.MinRank+r.IntN(4-o.MinRank+1))
		for j := range shape {
			shape[j] = 1 + r.Int64N(7)
			if o.Zero && r.IntN(8) == 0 {
				shape[j] = 0
			}
		}
		name := o.Name
		if name == "" {
			name = stems[r.IntN(len(stems))] + ".%d"
		}
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf(name, i), DType: o.DTypes[r.IntN(len(o.DTypes))], Shape: shape})
	}
	return p
}

// stems are names of several lengths and scripts.
var stems = []string{"w", "layer.bias", "decoder.blocks.attention.output.weight", "encoder/0/attention.weight", "Größe", "重み", "with space", "\"quoted\"\n", "😀"}

// Decimal is the SchemaOptions.Name for formats that number their tensors.
const Decimal = "%d"

// LongName is a SchemaOptions.Name like those of large models, longer than the 32 bytes that the
// compiler can keep on the stack. The names of the first thousand tensors have the same length.
const LongName = "encoder.layer.%03d.attention.self.query.weight"

// scale is the default for Config.Scale.
func scale(n int, elems int64) *schema.Schema {
	p := &schema.Schema{Tensors: make([]tensor.Info, n)}
	for i := range p.Tensors {
		p.Tensors[i] = tensor.Info{Name: fmt.Sprintf(LongName, i), DType: tensor.Float32, Shape: tensor.Shape{elems}}
	}
	return p
}

// Fill returns arbitrary bytes for a tensor, which depend only on its name and dtype: 0 or 1 for
// bool, NaNs with payloads, infinities and subnormals among floating-point numbers.
func Fill(t tensor.Info) []byte {
	size, err := t.ByteSize()
	if err != nil {
		panic(fmt.Sprintf("formattest: tensor %q of a sample: %v", t.Name, err))
	}
	h := fnv.New64a()
	h.Write([]byte(t.Name))
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(t.DType)))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
		if t.DType == tensor.Bool {
			b[i] &= 1
		}
	}
	return b
}
