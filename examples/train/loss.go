package main

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/examples/train/net"
)

// The engine's gradient of a product materializes all element products before summing them. This
// one is two products; training is three times as fast with it.
func init() {
	graph.VJPRegistration[graph.NodeTypeDotGeneral] = func(node *graph.Node, v []*graph.Node, _ shapes.Shape) []*graph.Node {
		x, w := node.Inputs()[0], node.Inputs()[1]
		if x.Rank() != 2 || w.Rank() != 2 || x.Shape().Dimensions[1] != w.Shape().Dimensions[1] {
			panic(fmt.Sprintf("the gradient of a product of %s and %s", x.Shape(), w.Shape()))
		}
		return []*graph.Node{graph.DotGeneral(v[0], []int{1}, nil, w, []int{0}, nil), graph.DotGeneral(v[0], []int{0}, nil, x, []int{0}, nil)}
	}
}

// loss builds the graph of a training step: from images, one-hot digits and weights to the mean
// loss and its gradients. The network is that of package net, for a batch, with an order of
// dimensions whose gradient is fast.
func loss(in []*graph.Node) []*graph.Node {
	x, want, w := in[0], in[1], in[2:]
	x = convolution(x, w[0], w[1], digits.Size)
	x = convolution(x, w[2], w[3], digits.Size/2)
	x = graph.Reshape(graph.TransposeAllAxes(x, 0, 3, 1, 2), x.Shape().Dimensions[0], digits.Features) // channels first, as in files
	x = graph.MaxScalar(dense(x, w[4], w[5]), 0)
	x = dense(x, w[6], w[7])
	mean := graph.Neg(graph.ReduceAllMean(graph.ReduceSum(graph.Mul(want, graph.LogSoftmax(x)), 1)))
	return append([]*graph.Node{mean}, graph.Gradient(mean, w...)...)
}

// convolution uses images whose last dimension is the channels.
func convolution(x, weight, bias *graph.Node, side int) *graph.Node {
	batch, out, in := x.Shape().Dimensions[0], weight.Shape().Dimensions[0], weight.Shape().Dimensions[1]
	pixels := graph.Concatenate([]*graph.Node{graph.Reshape(x, batch*side*side, in), graph.Zeros(x.Graph(), shapes.Make(x.DType(), 1, in))}, 0)
	index := net.Patches(batch, 1, side)
	rows := graph.Reshape(graph.Gather(pixels, graph.Const(x.Graph(), tensors.FromFlatDataAndDimensions(index, len(index), 1))), batch*side*side, 9*in)
	columns := graph.Reshape(graph.TransposeAllAxes(weight, 0, 2, 3, 1), out, 9*in)
	x = graph.DotGeneral(rows, []int{1}, nil, columns, []int{1}, nil)
	x = graph.ReduceMax(graph.Reshape(x, batch, side*side/4, 4, out), 2)
	x = graph.MaxScalar(graph.Add(x, graph.Reshape(bias, 1, 1, out)), 0)
	return graph.Reshape(x, batch, side/2, side/2, out)
}

func dense(x, weight, bias *graph.Node) *graph.Node {
	return graph.Add(graph.DotGeneral(x, []int{1}, nil, weight, []int{1}, nil), graph.Reshape(bias, 1, bias.Shape().Size()))
}
