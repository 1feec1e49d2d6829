package bench

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Model is a model to write in each format.
type Model struct {
	Name string
	// Schema returns the tensors and their data, one after the other. Tensors beyond the end of the
	// data have its first bytes. It is computed once.
	Schema func() (p *schema.Schema, data []byte)
}

// Models are 20 tensors in 2 MB, 300 in 100 MB, and 10,000 of 256 bytes.
var Models = []Model{small, large, many}

var (
	small = model("small", func(l *layers) { l.cnn(1, 7, []int64{32, 64, 64}, []int64{140}) })
	large = model("large", (*layers).transformer)
	many  = model("many", func(l *layers) {
		for i := range 10_000 {
			l.tensor(fmt.Sprintf("experts.%d.linear.weight", i), 8, 8)
		}
	})

	// CNNs for images of 28x28 and of 32x32 pixels.
	mnist = model("mnist", func(l *layers) { l.cnn(1, 7, []int64{32, 64, 64}, []int64{256, 128, 10}) })
	cifar = model("cifar", func(l *layers) { l.cnn(3, 4, []int64{64, 64, 128, 128, 256, 256}, []int64{256, 10}) })

	// As many tensors and bytes as torchvision.models.resnet50 has, with the statistics of its
	// normalizations: 98 MB (of 1,048,576 bytes).
	resNet50 = uniform("resnet50", 267, 95_919)

	// As many numbers in one tensor.
	smallSingle = uniform("small-single", 1, 495_564)
	largeSingle = uniform("large-single", 1, 24_976_800)
)

// longest is the length of a model's data; larger models repeat it.
const longest = 100 << 20

// model returns a model whose weights are normally distributed, as trained ones are.
func model(name string, build func(*layers)) Model {
	return Model{name, sync.OnceValues(func() (*schema.Schema, []byte) {
		var l layers
		build(&l)
		size := int64(0)
		for _, t := range l {
			size += t.Size
		}
		r := rand.New(rand.NewPCG(1, 2))
		var data bytes.Buffer
		for range min(size, longest) / 4 {
			bits := math.Float32bits(float32(0.05 * r.NormFloat64()))
			data.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
		}
		return &schema.Schema{Tensors: l}, data.Bytes()
	})}
}

// uniform returns a model of n equal tensors, called 0, 1, ...
func uniform(name string, n int, shape ...int64) Model {
	return model(name, func(l *layers) {
		for i := range n {
			l.tensor(strconv.Itoa(i), shape...)
		}
	})
}

// layers collects the tensors of a model.
type layers []tensor.Info

func (l *layers) tensor(name string, shape ...int64) {
	info := tensor.Info{Name: name, DType: tensor.Float32, Shape: shape}
	info.Size, _ = info.ByteSize()
	*l = append(*l, info)
}

// layer adds a weight and a bias. The first dim is the number of outputs.
func (l *layers) layer(name string, shape ...int64) {
	l.tensor(name+".weight", shape...)
	l.tensor(name+".bias", shape[0])
}

// norm adds a batch normalization with its statistics.
func (l *layers) norm(name string, n int64) {
	l.layer(name, n)
	l.tensor(name+".running_mean", n)
	l.tensor(name+".running_var", n)
}

// cnn adds 3x3 convolutions with batch normalization, and linear layers for the side x side pixels
// that are left of the image.
func (l *layers) cnn(in, side int64, convolutions, linear []int64) {
	for i, out := range convolutions {
		l.layer(fmt.Sprintf("conv%d", i+1), out, in, 3, 3)
		l.norm(fmt.Sprintf("bn%d", i+1), out)
		in = out
	}
	in *= side * side
	for i, out := range linear {
		l.layer(fmt.Sprintf("fc%d", i+1), out, in)
		in = out
	}
}

// transformer adds 25 blocks of width 288.
func (l *layers) transformer() {
	const d = 288
	for i := range 25 {
		p := fmt.Sprintf("blocks.%d.", i)
		l.layer(p+"norm1", d)
		l.layer(p+"attn.qkv", 3*d, d)
		l.layer(p+"attn.out", d, d)
		l.layer(p+"norm2", d)
		l.layer(p+"mlp.up", 4*d, d)
		l.layer(p+"mlp.down", d, 4*d)
	}
}
