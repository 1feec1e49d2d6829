// Package net computes the network of package digits with a Go engine, gomlx and its
// pure-Go backend, on weights that stay where they are: in the mapping of a model
// file.
//
// # What is copied
//
// Nothing of the weights, neither when a network is made nor when it predicts. The
// backend keeps the slice that a constant of a computation is made of, and a product
// reads its operands as they are when both have the dimension that is summed over
// last: so a convolution is a product of the weights, a row for each output, with
// the patches of an image. Tests show it: a network takes less memory than its weights,
// and what is written to a mapped file shows in the next prediction.
package net

import (
	"fmt"
	"os"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/weightmap/weightmap/examples/internal/digits"
)

// Network is a computation on weights that it does not own. It is safe for concurrent
// use.
type Network struct {
	program backends.Executable
}

// engine is the backend without goroutines of its own: a prediction is computed by the
// goroutine that asks for it, so that format.Model.Do finds a fault of the mapping. With
// them, two operators can also wait for one another for ever (gomlx 0.26).
var engine, errEngine = quietly(func() (backends.Backend, error) { return simplego.New("ops_sequential,parallelism=0") })

// quietly keeps what f prints to itself: the backend repeats its options on standard
// output. That is for initialization, when nobody else prints.
func quietly(f func() (backends.Backend, error)) (backends.Backend, error) {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		defer null.Close()
		defer func(out *os.File) { os.Stdout = out }(os.Stdout)
		os.Stdout = null
	}
	return f()
}

// New makes a network that computes with w, which must not change, nor go away with
// its model, while Predict is called.
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

// Predict says what m may be.
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

// builder makes a computation. What fails on the way panics with a failure.
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

// weights makes a constant of values, which the backend keeps as they are.
func (b builder) weights(values []float32, dims ...int) backends.Op {
	return must(b.Constant(values, dims...))
}

// convolution is one with a kernel of 3 by 3, ReLU, and the maximum of 2 by 2: a product
// of the patches of x, in rows, with the weights as they are.
func (b builder) convolution(x backends.Op, l digits.Layer, side, in, out int) backends.Op {
	rows, size := side*side, 9*in
	x = must(b.Concatenate(0, must(b.Reshape(x, in*rows)), b.weights([]float32{0}, 1)))
	x = must(b.Gather(x, must(b.Constant(patches[in], rows*size, 1)), 1, nil, []int{0}, []int{0}, []int{1}, false))
	x = must(b.Reshape(x, rows, size))
	x = must(b.DotGeneral(b.weights(l.Weight, out, size), []int{1}, nil, x, []int{1}, nil))
	x = must(b.ReduceMax(must(b.Reshape(x, out, rows/4, 4)), 2))
	return b.rectified(must(b.Add(x, b.weights(l.Bias, out, 1))))
}

// patches are those of both convolutions, by their channels of input.
var patches = map[int][]int32{1: Patches(1, 1, digits.Size), digits.Channels1: Patches(1, digits.Channels1, digits.Size/2)}

// Patches says which nine elements are around each pixel of square images, for one channel
// after the other: numbers in images by channels by rows by columns, and the number
// behind the last for the zeros around an image. The pixels of a window that the maximum is
// taken of follow one another.
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

// softmax is that of one row of logits.
func (b builder) softmax(x backends.Op) backends.Op {
	x = must(b.Sub(x, must(b.ReduceMax(x))))
	x = must(b.Exp(x))
	return must(b.Div(x, must(b.ReduceSum(x))))
}
