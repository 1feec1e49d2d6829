package testmodel

import (
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// builder collects the tensors of a model.
type builder struct {
	seed    uint64
	tensors []Tensor
}

func (b *builder) add(mean, std float64, name string, dims ...int64) {
	b.tensors = append(b.tensors, Tensor{name, dims, mean, std, b.seed, uint64(len(b.tensors))})
}

func (b *builder) weight(name string, dims ...int64) { b.add(0, 0, name+".weight", dims...) }
func (b *builder) bias(name string, n int64)         { b.add(0, 0.05, name, n) }

// layer adds the weight and bias of a convolution or linear layer. The first dim is the number of
// outputs.
func (b *builder) layer(name string, dims ...int64) {
	b.weight(name, dims...)
	b.bias(name+".bias", dims[0])
}

// scale adds the learned parameters of a normalization.
func (b *builder) scale(name string, n int64) {
	b.add(1, 0.1, name+".weight", n)
	b.bias(name+".bias", n)
}

// norm adds a batch normalization with its statistics.
func (b *builder) norm(name string, n int64) {
	b.scale(name, n)
	b.bias(name+".running_mean", n)
	b.add(1, 0.1, name+".running_var", n)
}

// Small returns a CNN of 20 tensors and 2 MB for 28x28 gray images.
func Small() []Tensor {
	b := builder{seed: 20}
	in := int64(1)
	for i, out := range []int64{16, 32, 32, 64} {
		b.layer(fmt.Sprintf("conv%d", i+1), out, in, 3, 3)
		b.scale(fmt.Sprintf("bn%d", i+1), out)
		in = out
	}
	b.layer("fc1", 148, 64*7*7)
	b.layer("fc2", 10, 148)
	return b.tensors
}

// MNIST returns a CNN of 24 tensors and 0.89 million parameters for 28x28 gray images: three
// convolutions with batch normalization, two pooling layers and three linear layers.
func MNIST() []Tensor {
	b := builder{seed: 28}
	in := int64(1)
	for i, out := range []int64{32, 64, 64} {
		b.layer(fmt.Sprintf("conv%d", i+1), out, in, 3, 3)
		b.norm(fmt.Sprintf("bn%d", i+1), out)
		in = out
	}
	b.layer("fc1", 256, 64*7*7)
	b.layer("fc2", 128, 256)
	b.layer("fc3", 10, 128)
	return b.tensors
}

// CIFAR returns a CNN of 40 tensors and 2.2 million parameters for 32x32 color images: six
// convolutions with batch normalization, three pooling layers and two linear layers.
func CIFAR() []Tensor {
	b := builder{seed: 32}
	in := int64(3)
	for i, out := range []int64{64, 64, 128, 128, 256, 256} {
		b.layer(fmt.Sprintf("conv%d", i+1), out, in, 3, 3)
		b.norm(fmt.Sprintf("bn%d", i+1), out)
		in = out
	}
	b.layer("fc1", 256, 256*4*4)
	b.layer("fc2", 10, 256)
	return b.tensors
}

// Large returns a transformer of 300 tensors and 100 MB: 25 blocks of width 288.
func Large() []Tensor {
	const d = 288
	b := builder{seed: 300}
	for i := range 25 {
		p := fmt.Sprintf("blocks.%d.", i)
		b.scale(p+"norm1", d)
		b.layer(p+"attn.qkv", 3*d, d)
		b.layer(p+"attn.out", d, d)
		b.scale(p+"norm2", d)
		b.layer(p+"mlp.up", 4*d, d)
		b.layer(p+"mlp.down", d, 4*d)
	}
	return b.tensors
}

// Many returns 10,000 tensors of 256 bytes.
func Many() []Tensor {
	b := builder{seed: 10_000, tensors: make([]Tensor, 0, 10_000)}
	dims := tensor.Shape{8, 8}
	for i := range 10_000 {
		b.weight(fmt.Sprintf("experts.%d.linear", i), dims...)
	}
	return b.tensors
}

// ResNet50 returns the state of torchvision.models.resnet50: 25,557,032 parameters and 53,120
// statistics of batch normalization, 98 MB (of 1,048,576 bytes). It omits the 53 int64 counters
// num_batches_tracked.
//
// Source: torchvision/models/resnet.py, ResNet(Bottleneck, [3, 4, 6, 3]), with the
// stride in the 3x3 convolution; figure and table 1 of arXiv:1512.03385 have the
// same shapes.
func ResNet50() []Tensor {
	b := builder{seed: 50}
	b.weight("conv1", 64, 3, 7, 7)
	b.norm("bn1", 64)
	in := int64(64)
	for stage, s := range []struct {
		blocks int
		width  int64
	}{{3, 64}, {4, 128}, {6, 256}, {3, 512}} {
		for i := range s.blocks {
			b.bottleneck(fmt.Sprintf("layer%d.%d.", stage+1, i), in, s.width, i == 0)
			in = 4 * s.width
		}
	}
	b.layer("fc", 1000, 2048)
	return b.tensors
}

// bottleneck adds three convolutions without bias, their normalizations, and the projection in a
// stage's first block.
func (b *builder) bottleneck(p string, in, width int64, first bool) {
	for i, c := range [][]int64{{width, in, 1, 1}, {width, width, 3, 3}, {4 * width, width, 1, 1}} {
		b.weight(fmt.Sprintf("%sconv%d", p, i+1), c...)
		b.norm(fmt.Sprintf("%sbn%d", p, i+1), c[0])
	}
	if first {
		b.weight(p+"downsample.0", 4*width, in, 1, 1)
		b.norm(p+"downsample.1", 4*width)
	}
}
