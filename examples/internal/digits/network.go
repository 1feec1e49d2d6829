package digits

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Channels of the two convolutions, what remains of an image behind both, and the
// width of the layer between.
const (
	Channels1 = 8
	Channels2 = 16
	Features  = Channels2 * Size / 4 * Size / 4
	Hidden    = 64
)

// Weights are the parameters of the network: two convolutions with kernels of 3 by 3
// pixels, which zeros are put around an image for, each followed by ReLU and the
// maximum of every 2 by 2 pixels, and two dense layers with ReLU between. What
// comes out are logits. All is row-major: channels of output, channels of input, rows,
// columns; dense layers have a row for each output.
type Weights struct {
	Conv1, Conv2, Dense1, Dense2 Layer
	// Copied is how many bytes Load had to decode, because the file has them in
	// another type, compressed or not aligned. The rest is memory of the model.
	Copied int64
}

// Layer has the weights of one layer.
type Layer struct{ Weight, Bias []float32 }

// parameters are the tensors of a model file.
var parameters = [...]struct {
	name  string
	shape tensor.Shape
	of    func(*Weights) *[]float32
}{
	{"conv1.weight", tensor.Shape{Channels1, 1, 3, 3}, func(w *Weights) *[]float32 { return &w.Conv1.Weight }},
	{"conv1.bias", tensor.Shape{Channels1}, func(w *Weights) *[]float32 { return &w.Conv1.Bias }},
	{"conv2.weight", tensor.Shape{Channels2, Channels1, 3, 3}, func(w *Weights) *[]float32 { return &w.Conv2.Weight }},
	{"conv2.bias", tensor.Shape{Channels2}, func(w *Weights) *[]float32 { return &w.Conv2.Bias }},
	{"dense1.weight", tensor.Shape{Hidden, Features}, func(w *Weights) *[]float32 { return &w.Dense1.Weight }},
	{"dense1.bias", tensor.Shape{Hidden}, func(w *Weights) *[]float32 { return &w.Dense1.Bias }},
	{"dense2.weight", tensor.Shape{Classes, Hidden}, func(w *Weights) *[]float32 { return &w.Dense2.Weight }},
	{"dense2.bias", tensor.Shape{Classes}, func(w *Weights) *[]float32 { return &w.Dense2.Bias }},
}

// Plan describes the network's model, with its graph in the operators of ONNX, which
// the wia format has. Package convert makes other formats of that.
func Plan() *format.Plan {
	p := &format.Plan{
		Metadata: format.Metadata{
			{Key: "name", Value: "digits"},
			{Key: "description", Value: "Handwritten digits, from 16 by 16 pixels. Trained by examples/train on drawings that it makes itself."},
		},
		Graph: graph(),
	}
	for _, t := range parameters {
		p.Tensors = append(p.Tensors, tensor.Info{Name: t.name, DType: tensor.Float32, Shape: t.shape})
	}
	return p
}

func graph() *format.Graph {
	g := &format.Graph{
		Name:    "digits",
		Inputs:  []format.ValueInfo{{Name: "image", DType: tensor.Float32, Dims: format.FixedDims(1, 1, Size, Size)}},
		Outputs: []format.ValueInfo{{Name: "probabilities", DType: tensor.Float32, Dims: format.FixedDims(1, Classes)}},
	}
	last := "image"
	add := func(name, op, layer string, attributes ...format.Attribute) {
		n := format.Node{Name: name, Op: op, Inputs: []string{last}, Outputs: []string{name}, Attributes: attributes}
		if layer != "" {
			n.Inputs = append(n.Inputs, layer+".weight", layer+".bias")
		}
		g.Nodes, last = append(g.Nodes, n), name
	}
	ints := func(name string, v ...int64) format.Attribute { return format.Attribute{Name: name, Value: v} }
	for _, i := range []string{"1", "2"} {
		add("convolved"+i, "Conv", "conv"+i, ints("kernel_shape", 3, 3), ints("pads", 1, 1, 1, 1))
		add("rectified"+i, "Relu", "")
		add("pooled"+i, "MaxPool", "", ints("kernel_shape", 2, 2), ints("strides", 2, 2))
	}
	add("features", "Flatten", "")
	transposed := format.Attribute{Name: "transB", Value: int64(1)}
	add("hidden", "Gemm", "dense1", transposed)
	add("rectified3", "Relu", "")
	add("logits", "Gemm", "dense2", transposed)
	add("probabilities", "Softmax", "")
	return g
}

// Save writes the network to a WIA file, which is the same for the same weights.
func (w *Weights) Save(path string) error {
	out, err := format.Create("wia", path, Plan(), &format.WriteOptions{Time: time.Unix(0, 0)})
	if err != nil {
		return err
	}
	defer out.Abort() // does nothing after Close
	for _, t := range parameters {
		var data []byte
		for _, x := range *t.of(w) {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		if err := out.WriteTensor(t.name, bytes.NewReader(data)); err != nil {
			return err
		}
	}
	return out.Close()
}
