package bench

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// Blocks describes a type of quantized blocks in GGUF files.
type Blocks struct {
	Name         string
	Elems, Bytes int64 // per block
	Exponents    []int // offsets in a block of the exponents of its scales
	Limit        float64
}

// BlockTypes are the measured types, each with its limit relative to copying the float32 output.
var BlockTypes = []Blocks{
	{"Q4_0", 32, 18, []int{1}, 2.0},
	{"Q4_1", 32, 20, []int{1, 3}, 2.6},
	{"Q5_0", 32, 22, []int{1}, 2.2},
	{"Q5_1", 32, 24, []int{1, 3}, 2.2},
	{"IQ4_NL", 32, 18, []int{1}, 2.2},
	{"IQ4_XS", 256, 136, []int{1}, 2.2},
	{"MXFP4", 32, 17, []int{0}, 2.2},
	{"Q8_0", 32, 34, []int{1}, 0.9},
	{"Q2_K", 256, 84, []int{81, 83}, 3.5},
	{"Q3_K", 256, 110, []int{109}, 5.0},
	{"Q4_K", 256, 144, []int{1, 3}, 1.1},
	{"Q5_K", 256, 176, []int{1, 3}, 1.3},
	{"Q6_K", 256, 210, []int{209}, 3.0},
	{"IQ1_S", 256, 50, []int{1}, 8},
	{"IQ1_M", 256, 56, []int{55}, 8},
	{"IQ2_XXS", 256, 66, []int{1}, 8},
	{"IQ2_XS", 256, 74, []int{1}, 8},
	{"IQ2_S", 256, 82, []int{1}, 8},
	{"IQ3_XXS", 256, 98, []int{1}, 8},
	{"IQ3_S", 256, 110, []int{1}, 8},
	{"TQ1_0", 256, 54, []int{53}, 8},
	{"TQ2_0", 256, 66, []int{65}, 8},
	{"Q1_0", 128, 18, []int{1}, 8},
	{"Q2_0", 64, 18, []int{1}, 8},
	{"NVFP4", 64, 36, []int{0, 1, 2, 3}, 8},
}

// Encoded returns n random blocks with realistic scales.
func (t *Blocks) Encoded(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n*int(t.Bytes))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for block := b; len(block) > 0; block = block[t.Bytes:] {
		for _, at := range t.Exponents {
			block[at] = 0x20 | block[at]&7
		}
	}
	return b
}

// View returns blocks as a tensor that one processor decodes.
func (t *Blocks) View(b []byte) (tensor.View, error) {
	e := &tensor.Encoding{Name: t.Name, BlockElems: t.Elems, BlockBytes: t.Bytes}
	elems := int64(len(b)) / t.Bytes * t.Elems
	p := &format.Plan{Tensors: []tensor.Info{{Name: "t", Encoding: e, Shape: tensor.Shape{elems}, Size: int64(len(b))}}}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, p, nil)
	if err == nil {
		err = feed(w, p, b)
	}
	if err != nil {
		return tensor.View{}, err
	}
	m, err := gguf.OpenBytes(file.Bytes(), &format.Options{Workers: 1})
	if err != nil {
		return tensor.View{}, err
	}
	return m.Tensor("t")
}

// decodeVerdicts measures decoding blocks to float32 on one processor, relative to copying the output.
func decodeVerdicts() (all []verdict) {
	const elems = 1 << 20
	for _, t := range BlockTypes {
		all = append(all, verdict{name: "decode/" + t.Name, limit: t.Limit, figure: func(b *testing.B) float64 {
			v, err := t.View(t.Encoded(elems / int(t.Elems)))
			if err != nil {
				b.Fatal(err)
			}
			out, from := make([]float32, elems), make([]float32, elems)
			for i := range from {
				from[i] = 1 // otherwise the slice maps to the zero page
			}
			return floor.Pairs(b, floor.Rounds, func() error {
				_, err := tensor.Decode(out, v)
				return err
			}, func() error { copy(out, from); return nil })
		}})
	}
	return all
}
