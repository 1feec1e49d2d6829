package bench

import (
	"fmt"
	"os"
	"strings"
	"sync"
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

// values is the first id of values between operators.
const values = 1000

// encoded returns the file of a model quantized to a dtype: matrices and kernels with one scale per
// output channel, vectors with one scale. Each constant has an operator, which feeds the next.
func (m *mobiModel) encoded(d tensor.DType, level int) ([]byte, error) {
	c := &mobi.Config{Name: m.name}
	c.Time, c.Gzip = time.Unix(1_700_000_000, 0), level
	c.Inputs, c.Outputs = []mobi.Spec{mobi.NewSpec("image", mobi.Float32, -1, 28, 28)}, []mobi.Spec{mobi.NewSpec("scores", mobi.Float32, -1, 10)}
	for i, x := range m.tensors() {
		o := tensor.QuantizeOptions{DType: d, PerChannel: len(x.Shape) > 1}
		data, quant, _, err := tensor.Quantize(x.Data(), x.Shape, o)
		if err != nil {
			return nil, err
		}
		v, err := tensor.FromInfo(tensor.Info{DType: d, Shape: x.Shape, Quant: quant}, data)
		if err != nil {
			return nil, err
		}
		c.Constants = append(c.Constants, mobi.Constant{ID: uint32(i), Tensor: v})
		layer, _, _ := strings.Cut(x.Name, ".")
		c.Operators = append(c.Operators, mobi.Operator{Type: mobi.FullyConnected, Inputs: []uint32{uint32(values + i), uint32(i)}, Outputs: []uint32{uint32(values + i + 1)},
			Params: []mobi.Param{{Name: "layer", Value: layer}}})
	}
	return c.Bytes()
}

// mobi measures MOBI's targets. Opening parses the header; a load opens the file, verifies both
// checksums and reads every weight.
func (t *table) mobi() {
	for _, m := range mobiModels {
		for _, d := range mobiTypes {
			for i, kind := range []string{"plain", "gzip"} {
				write := func(path string) error {
					b, err := m.encoded(d, 6*i)
					if err != nil {
						return err
					}
					return os.WriteFile(path, b, 0o666)
				}
				t.targets(fmt.Sprintf("mobi/%s/%v/%s", m.name, d, kind), write,
					target{"header", 1, "", opened}, target{"load", m.ms, "", loaded}, target{"size", m.mb, "", megabytes})
			}
		}
	}
}
