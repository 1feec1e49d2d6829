package bench

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

// blocks describes a type of quantized blocks in GGUF files.
type blocks struct {
	name         string
	elems, bytes int64 // per block
	exponents    []int // offsets in a block of the exponents of its scales
	limit        float64
}

// blockTypes are the measured types, each with its limit relative to copying the float32 output.
var blockTypes = []blocks{
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

// encoded returns n random blocks with realistic scales.
func (t *blocks) encoded(n int) []byte {
	b := noise(n * int(t.bytes))
	for block := b; len(block) > 0; block = block[t.bytes:] {
		for _, at := range t.exponents {
			block[at] = 0x20 | block[at]&7
		}
	}
	return b
}

// view returns blocks as a tensor that one processor decodes.
func (t *blocks) view(b []byte) (tensor.View, error) {
	e := &tensor.Encoding{Name: t.name, BlockElems: t.elems, BlockBytes: t.bytes}
	elems := int64(len(b)) / t.bytes * t.elems
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "t", Encoding: e, Shape: tensor.Shape{elems}, Size: int64(len(b))}}}
	var file bytes.Buffer
	w, err := format.NewWriter(&file, p, &format.WriteOptions{Format: expect.Must(format.ByName("gguf"))})
	if err := feed(w, err, p, b); err != nil {
		return tensor.View{}, err
	}
	m, err := format.OpenBytes(file.Bytes(), &format.Options{Workers: 1})
	if err != nil {
		return tensor.View{}, err
	}
	return m.Tensor("t")
}

// numberElems is the number of elements decoded and encoded: 4 MB of float32.
const numberElems = 1 << 20

// decode measures decoding to float32, relative to copying the output: types of numbers, in
// memory (16M elements) and in cache, and GGUF blocks on one processor.
func (t *table) decode() {
	memory := tensor.Shape{4096, 4096}
	cache := tensor.Shape{1024, numberElems / 1024}
	scale := &tensor.Quantization{Scales: []float32{0.01}, Axis: tensor.PerTensor}
	columns := &tensor.Quantization{Scales: slices.Repeat([]float32{0.01, 0.02}, 2048), Axis: 1}
	for _, c := range []struct {
		name  string
		info  tensor.Info
		limit float64
	}{
		{"to-float32/float16", tensor.Info{DType: tensor.Float16, Shape: memory}, 1.4},
		{"to-float32/bfloat16", tensor.Info{DType: tensor.BFloat16, Shape: memory}, 1.4},
		{"to-float32/int8", tensor.Info{DType: tensor.Int8, Shape: memory, Quant: scale}, 1.4},
		{"to-float32/int8/last-axis", tensor.Info{DType: tensor.Int8, Shape: memory, Quant: columns}, 1.4},
		{"decode/float64", tensor.Info{DType: tensor.Float64, Shape: cache}, 1.4},
		{"decode/int32", tensor.Info{DType: tensor.Int32, Shape: cache}, 1.1},
		{"decode/int16/scale", tensor.Info{DType: tensor.Int16, Shape: cache, Quant: scale}, 1},
		{"decode/float8_e4m3fn", tensor.Info{DType: tensor.Float8E4M3FN, Shape: cache}, 2},
		{"decode/float8_e5m2", tensor.Info{DType: tensor.Float8E5M2, Shape: cache}, 2},
		{"decode/float8_e4m3fnuz", tensor.Info{Encoding: lowbit.Encoding("F8_E4M3FNUZ"), Shape: cache}, 2},
		{"decode/float8_e5m2fnuz", tensor.Info{Encoding: lowbit.Encoding("F8_E5M2FNUZ"), Shape: cache}, 2},
		{"decode/float8_e8m0", tensor.Info{Encoding: lowbit.Encoding("F8_E8M0"), Shape: cache}, 2},
	} {
		t.most(c.name, c.limit, func(b *testing.B) float64 {
			size, err := c.info.ByteSize()
			expect.OK(b, err)
			v, err := tensor.FromInfo(c.info, noise(int(size)))
			expect.OK(b, err)
			return decoding(b, v)
		})
	}
	for _, c := range blockTypes {
		t.most("decode/"+c.name, c.limit, func(b *testing.B) float64 {
			v, err := c.view(c.encoded(numberElems / int(c.elems)))
			expect.OK(b, err)
			return decoding(b, v)
		})
	}
}

// decoding measures decoding a view to float32, relative to copying the output.
func decoding(b *testing.B, v tensor.View) float64 {
	out := make([]float32, v.Elems())
	to := make([]float32, v.Elems())
	from := slices.Repeat([]float32{1}, int(v.Elems())) // zeros would be one page of memory
	return floor.Pairs(b, func() error {
		_, err := tensor.Decode(out, v)
		return err
	}, func() error { copy(to, from); return nil })
}

// noise returns n random bytes.
func noise(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(p)
	return p
}
