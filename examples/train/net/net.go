// Package net runs the network of package digits with gomlx's pure-Go backend, on weights in
// the mapping of a model file.
//
// # Copying
//
// The weights are never copied. The backend uses the slice of a constant directly, and a
// product reads its operands in place if the summed dimension is the last of both. A
// convolution is therefore computed as the product of the weights, a row per output, with the
// patches of an image. Tests check that a network allocates less than the size of its weights,
// and that a write to the mapped file affects the next prediction.
package net

import (
	"fmt"
	"os"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/weightmap/weightmap/examples/digits"
)

// Network runs on weights that it does not own. It is safe for concurrent use.
type Network struct {
	program backends.Executable
}

// engine is a backend without goroutines: a prediction runs in the calling goroutine, so
// format.Model.Guard can catch a page fault. With goroutines, two operators can also deadlock
// (gomlx 0.26).
var engine, errEngine = quietly(func() (backends.Backend, error) { return simplego.New("ops_sequential,parallelism=0") })

// quietly discards what f prints to standard output, since the backend prints its options. It may
// only be called during initialization.
func quietly(f func() (backends.Backend, error)) (backends.Backend, error) {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		defer null.Close()
		defer func(out *os.File) { os.Stdout = out }(os.Stdout)
		os.Stdout = null
	}
	return f()
}

// New returns a network that uses w. w must not change, and its model must not be closed, while
// Predict runs.
func New(w *digits.Weights) (n *Network, err error) {
	if errEngine != nil {
		return nil, errEngine
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			n, err = nil, fmt.Errorf("digits: %w", f.error)
		}
	}()
	b := builder{engine.Builder("digits")}
	x := b.input(1, 1, digits.Size, digits.Size)
	x = b.convolution(x, w.Conv1, digits.Size, 1, digits.Channels1)
	x = b.convolution(x, w.Conv2, digits.Size/2, digits.Channels1, digits.Channels2)
	x = must(b.Reshape(x, 1, digits.Features))
	x = b.rectified(b.dense(x, w.Dense1, digits.Features, digits.Hidden))
	x = b.softmax(b.dense(x, w.Dense2, digits.Hidden, digits.Classes))
	program, err := b.Compile([]backends.Op{x}, nil)
	if err != nil {
		return nil, fmt.Errorf("digits: %w", err)
	}
	return &Network{program}, nil
}

// Predict returns the probability of each digit for m.
func (n *Network) Predict(m *digits.Image) (p digits.Probabilities, err error) {
	in, flat, err := engine.NewSharedBuffer(0, shapes.Make(dtypes.Float32, 1, 1, digits.Size, digits.Size))
	if err != nil {
		return p, err
	}
	defer engine.BufferFinalize(in)
	m.Floats(flat.([]float32)[:0])
	out, err := n.program.Execute([]backends.Buffer{in}, nil, 0)
	if err != nil {
		return p, err
	}
	defer engine.BufferFinalize(out[0])
	err = engine.BufferToFlatData(out[0], p[:])
	return p, err
}

// builder builds a computation. Its methods panic with a failure.
type builder struct{ backends.Builder }

type failure struct{ error }

func must(x backends.Op, err error) backends.Op {
	if err != nil {
		panic(failure{err})
	}
	return x
}

func (b builder) input(dims ...int) backends.Op {
	return must(b.Parameter("image", shapes.Make(dtypes.Float32, dims...), nil))
}

// weights returns a constant, for which the backend uses values without copying.
func (b builder) weights(values []float32, dims ...int) backends.Op {
	return must(b.Constant(values, dims...))
}

// convolution returns a 3 by 3 convolution, 2 by 2 max pooling and ReLU, computed as the product of
// the weights with the patches of x.
func (b builder) convolution(x backends.Op, l digits.Layer, side, in, out int) backends.Op {
	rows, size := side*side, 9*in
	x = must(b.Concatenate(0, must(b.Reshape(x, in*rows)), b.weights([]float32{0}, 1)))
	x = must(b.Gather(x, must(b.Constant(patches[in], rows*size, 1)), 1, nil, []int{0}, []int{0}, []int{1}, false))
	x = must(b.Reshape(x, rows, size))
	x = must(b.DotGeneral(b.weights(l.Weight, out, size), []int{1}, nil, x, []int{1}, nil))
	x = must(b.ReduceMax(must(b.Reshape(x, out, rows/4, 4)), 2))
	return b.rectified(must(b.Add(x, b.weights(l.Bias, out, 1))))
}

// patches holds the patches of both convolutions, by the number of input channels.
var patches = map[int][]int32{1: Patches(1, 1, digits.Size), digits.Channels1: Patches(1, digits.Channels1, digits.Size/2)}

// Patches returns, for each pixel of square images, the indices of the nine elements around it,
// channel by channel. Indices are into an array of images by channels by rows by columns; the index
// after the last stands for the zero padding. The pixels of a pooling window are consecutive.
func Patches(images, channels, side int) (index []int32) {
	for i := range images * side * side {
		image, window, corner := i/(side*side), i%(side*side)/4, i%4
		y, x := window/(side/2)*2+corner/2, window%(side/2)*2+corner%2
		for c := range channels {
			for k := range 9 {
				at := images * channels * side * side
				if py, px := y+k/3-1, x+k%3-1; py >= 0 && py < side && px >= 0 && px < side {
					at = ((image*channels+c)*side+py)*side + px
				}
				index = append(index, int32(at))
			}
		}
	}
	return index
}

func (b builder) dense(x backends.Op, l digits.Layer, in, out int) backends.Op {
	x = must(b.DotGeneral(x, []int{1}, nil, b.weights(l.Weight, out, in), []int{1}, nil))
	return must(b.Add(x, b.weights(l.Bias, 1, out)))
}

func (b builder) rectified(x backends.Op) backends.Op {
	return must(b.Max(x, b.weights([]float32{0})))
}

// softmax returns the softmax of one row of logits.
func (b builder) softmax(x backends.Op) backends.Op {
	x = must(b.Sub(x, must(b.ReduceMax(x))))
	x = must(b.Exp(x))
	return must(b.Div(x, must(b.ReduceSum(x))))
}
