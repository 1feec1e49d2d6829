package bench

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// mobiModel is one of the two models in MOBI's specification, with its targets.
type mobiModel struct {
	name    string
	tensors func() []testmodel.Tensor
	ms      float64 // load time
	mb      float64 // file size, 10^6 bytes
}

var mobiModels = []mobiModel{
	{"mnist", sync.OnceValue(testmodel.MNIST), 50, 2},
	{"cifar", sync.OnceValue(testmodel.CIFAR), 100, 5},
}

var mobiTypes = []tensor.DType{tensor.Int8, tensor.Int16, tensor.Float16}

// float32Size returns the size of the float32 original.
func (m *mobiModel) float32Size() (n int64) {
	for _, t := range m.tensors() {
		n += t.Info().Size
	}
	return n
}

// encoded returns the file of a model quantized to a dtype: matrices and kernels with one scale per
// output channel, vectors with one scale.
func (m *mobiModel) encoded(t testing.TB, d tensor.DType, level int) []byte {
	t.Helper()
	c := &mobi.Config{Name: m.name}
	c.Time, c.Gzip = time.Unix(1_700_000_000, 0), level
	c.Inputs, c.Outputs = []mobi.Spec{mobi.NewSpec("image", mobi.Float32, -1, 28, 28)}, []mobi.Spec{mobi.NewSpec("scores", mobi.Float32, -1, 10)}
	for i, x := range m.tensors() {
		o := tensor.QuantizeOptions{DType: d, PerChannel: len(x.Shape) > 1}
		data, quant, _, err := tensor.Quantize(x.Data(), x.Shape, o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := tensor.FromInfo(tensor.Info{DType: d, Shape: x.Shape, Quant: quant}, data)
		if err != nil {
			t.Fatal(err)
		}
		c.Constants = append(c.Constants, mobi.Constant{ID: uint32(i), Tensor: v})
		consume(c, x.Name, uint32(i))
	}
	b, err := c.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// consume adds a constant to the operator of its layer, the part of its name before the dot. Each
// layer feeds the next.
func consume(c *mobi.Config, name string, id uint32) {
	layer, _, _ := strings.Cut(name, ".")
	const values = 1000 // first id of values between layers
	n := len(c.Operators)
	if n > 0 && c.Operators[n-1].Params[0].Value == layer {
		c.Operators[n-1].Inputs = append(c.Operators[n-1].Inputs, id)
		return
	}
	typ := mobi.FullyConnected
	switch {
	case strings.HasPrefix(layer, "conv"):
		typ = mobi.Conv2D
	case strings.HasPrefix(layer, "bn"):
		typ = mobi.BatchNorm
	}
	c.Operators = append(c.Operators, mobi.Operator{Type: typ, Inputs: []uint32{uint32(values + n), id}, Outputs: []uint32{uint32(values + n + 1)},
		Params: []mobi.Param{{Name: "layer", Value: layer}}})
}
