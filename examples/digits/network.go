package digits

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// The channels of the two convolutions, the number of features after both, and the width of the
// hidden layer.
const (
	Channels1 = 8
	Channels2 = 16
	Features  = Channels2 * Size / 4 * Size / 4
	Hidden    = 64
)

// Weights holds the parameters of the network: two 3 by 3 convolutions with zero padding, each
// followed by ReLU and 2 by 2 max pooling, and two dense layers with ReLU in between. The outputs
// are logits. Weights are row-major: output channels, input channels, rows, columns; dense layers
// have a row per output.
type Weights struct {
	Conv1, Conv2, Dense1, Dense2 Layer
	// Copied is the number of bytes that Load had to decode, because they have another type, are
	// compressed or misaligned. All other weights are views of the model.
	Copied int64
}

// Layer holds the weights of one layer.
type Layer struct{ Weight, Bias []float32 }

// Parameters yields the tensors of a model file in order, each with a pointer to its values in w.
func (w *Weights) Parameters() iter.Seq2[tensor.Info, *[]float32] {
	return func(yield func(tensor.Info, *[]float32) bool) {
		for _, l := range []struct {
			name  string
			layer *Layer
			shape tensor.Shape
		}{
			{"conv1", &w.Conv1, tensor.Shape{Channels1, 1, 3, 3}},
			{"conv2", &w.Conv2, tensor.Shape{Channels2, Channels1, 3, 3}},
			{"dense1", &w.Dense1, tensor.Shape{Hidden, Features}},
			{"dense2", &w.Dense2, tensor.Shape{Classes, Hidden}},
		} {
			weight := tensor.Info{Name: l.name + ".weight", DType: tensor.Float32, Shape: l.shape}
			bias := tensor.Info{Name: l.name + ".bias", DType: tensor.Float32, Shape: l.shape[:1]}
			if !yield(weight, &l.layer.Weight) || !yield(bias, &l.layer.Bias) {
				return
			}
		}
	}
}

// Schema returns the schema of the network's model, with its graph in ONNX operators as the wia
// format stores it. Package convert converts it to other formats.
func Schema() *schema.Schema {
	p := &schema.Schema{
		Metadata: schema.Metadata{
			{Key: "name", Value: "digits"},
			{Key: "description", Value: "Handwritten digits, from 16 by 16 pixels. Trained by examples/train on drawings that it makes itself."},
		},
		Graph: graph(),
	}
	for info := range new(Weights).Parameters() {
		p.Tensors = append(p.Tensors, info)
	}
	return p
}

func graph() *schema.Graph {
	g := &schema.Graph{
		Name:    "digits",
		Inputs:  []schema.ValueInfo{{Name: "image", DType: tensor.Float32, Dims: schema.FixedDims(1, 1, Size, Size)}},
		Outputs: []schema.ValueInfo{{Name: "probabilities", DType: tensor.Float32, Dims: schema.FixedDims(1, Classes)}},
	}
	last := "image"
	add := func(name, op, layer string, attributes ...schema.Attribute) {
		n := schema.Node{Name: name, Op: op, Inputs: []string{last}, Outputs: []string{name}, Attributes: attributes}
		if layer != "" {
			n.Inputs = append(n.Inputs, layer+".weight", layer+".bias")
		}
		g.Nodes = append(g.Nodes, n)
		last = name
	}
	ints := func(name string, v ...int64) schema.Attribute { return schema.Attribute{Name: name, Value: v} }
	for _, i := range []string{"1", "2"} {
		add("convolved"+i, "Conv", "conv"+i, ints("kernel_shape", 3, 3), ints("pads", 1, 1, 1, 1))
		add("rectified"+i, "Relu", "")
		add("pooled"+i, "MaxPool", "", ints("kernel_shape", 2, 2), ints("strides", 2, 2))
	}
	add("features", "Flatten", "")
	transposed := schema.Attribute{Name: "transB", Value: int64(1)}
	add("hidden", "Gemm", "dense1", transposed)
	add("rectified3", "Relu", "")
	add("logits", "Gemm", "dense2", transposed)
	add("probabilities", "Softmax", "")
	return g
}

// Save writes the network to a WIA file. The same weights give the same bytes.
func (w *Weights) Save(path string) error {
	out, err := format.Create(path, Schema(), &format.WriteOptions{Format: wia.Format{}, Time: time.Unix(0, 0)})
	if err != nil {
		return err
	}
	defer out.Abort() // does nothing after Close
	for info, values := range w.Parameters() {
		var data []byte
		for _, x := range *values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		if err := out.WriteTensor(info.Name, bytes.NewReader(data)); err != nil {
			return err
		}
	}
	return out.Close()
}
