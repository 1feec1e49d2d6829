package main

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/weightmap/weightmap/examples/internal/digits"
)

// The engine's own gradient of a product writes out all single products before it
// sums them. This one is two products again, and training three times as fast.
func init() {
	VJPRegistration[NodeTypeDotGeneral] = func(node *Node, v []*Node, _ shapes.Shape) []*Node {
		x, w := node.Inputs()[0], node.Inputs()[1]
		if x.Rank() != 2 || w.Rank() != 2 || x.Shape().Dimensions[1] != w.Shape().Dimensions[1] {
			panic(fmt.Sprintf("the gradient of a product of %s and %s", x.Shape(), w.Shape()))
		}
		return []*Node{DotGeneral(v[0], []int{1}, nil, w, []int{0}, nil), DotGeneral(v[0], []int{0}, nil, x, []int{0}, nil)}
	}
}

// loss is the graph of a step: from images, digits as one of ten, and the weights, to
// the mean loss and its gradient for each of the weights. It is the network of package
// net, of a batch, and in an order of dimensions whose gradient is fast.
func loss(in []*Node) []*Node {
	x, want, w := in[0], in[1], in[2:]
	x = convolution(x, w[0], w[1], digits.Size)
	x = convolution(x, w[2], w[3], digits.Size/2)
	x = Reshape(TransposeAllAxes(x, 0, 3, 1, 2), x.Shape().Dimensions[0], digits.Features) // channels first, as in files
	x = MaxScalar(dense(x, w[4], w[5]), 0)
	x = dense(x, w[6], w[7])
	mean := Neg(ReduceAllMean(ReduceSum(Mul(want, LogSoftmax(x)), 1)))
	return append([]*Node{mean}, Gradient(mean, w...)...)
}

// convolution takes and returns images whose last dimension is the channels.
func convolution(x, weight, bias *Node, side int) *Node {
	batch, out, in := x.Shape().Dimensions[0], weight.Shape().Dimensions[0], weight.Shape().Dimensions[1]
	pixels := Concatenate([]*Node{Reshape(x, batch*side*side, in), Zeros(x.Graph(), shapes.Make(x.DType(), 1, in))}, 0)
	index := around(batch, side)
	rows := Reshape(Gather(pixels, Const(x.Graph(), tensors.FromFlatDataAndDimensions(index, len(index), 1))), batch*side*side, 9*in)
	columns := Reshape(TransposeAllAxes(weight, 0, 2, 3, 1), out, 9*in)
	x = DotGeneral(rows, []int{1}, nil, columns, []int{1}, nil)
	x = ReduceMax(Reshape(x, batch, side*side/4, 4, out), 2)
	x = MaxScalar(Add(x, Reshape(bias, 1, 1, out)), 0)
	return Reshape(x, batch, side/2, side/2, out)
}

// around says for each pixel of a batch which nine are around it. The pixels of a window
// that the maximum is taken of follow one another. Number batch*side*side is the zeros
// around an image.
func around(batch, side int) (index []int32) {
	for image := range batch {
		for i := range side * side {
			window, corner := i/4, i%4
			y, x := window/(side/2)*2+corner/2, window%(side/2)*2+corner%2
			for k := range 9 {
				at := batch * side * side
				if py, px := y+k/3-1, x+k%3-1; py >= 0 && py < side && px >= 0 && px < side {
					at = (image*side+py)*side + px
				}
				index = append(index, int32(at))
			}
		}
	}
	return index
}

func dense(x, weight, bias *Node) *Node {
	return Add(DotGeneral(x, []int{1}, nil, weight, []int{1}, nil), Reshape(bias, 1, bias.Shape().Size()))
}
