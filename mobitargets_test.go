package weightmap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// mobiModel is one of the two models of MOBI's specification, with what that
// demands.
type mobiModel struct {
	name    string
	tensors func() []testmodel.Tensor
	ms      float64 // to load
	mb      float64 // of the file, 10^6 bytes
}

var mobiModels = []mobiModel{
	{"mnist", sync.OnceValue(testmodel.MNIST), 50, 2},
	{"cifar", sync.OnceValue(testmodel.CIFAR), 100, 5},
}

var mobiTypes = []tensor.DType{tensor.Int8, tensor.Int16, tensor.Float16}

// float32Size is the size of the model's original.
func (m *mobiModel) float32Size() (n int64) {
	for _, t := range m.tensors() {
		n += 4 * int64(len(t.Data))
	}
	return n
}

// encoded returns the file of a model quantized to a dtype: matrices and
// kernels with a scale per output channel, vectors with one scale.
func (m *mobiModel) encoded(t testing.TB, d tensor.DType, level int) []byte {
	t.Helper()
	c := &mobi.Config{Name: m.name, Time: time.Unix(1_700_000_000, 0), Gzip: level,
		Inputs: []mobi.Spec{mobi.NewSpec("image", mobi.Float32, -1, 28, 28)}, Outputs: []mobi.Spec{mobi.NewSpec("scores", mobi.Float32, -1, 10)}}
	for i, x := range m.tensors() {
		o := tensor.QuantizeOptions{DType: d, PerChannel: len(x.Shape) > 1}
		data, quant, _, err := tensor.Quantize(x.Data, x.Shape, o)
		if err != nil {
			t.Fatal(err)
		}
		c.Constants = append(c.Constants, mobi.Constant{ID: uint32(i), DType: d, Shape: x.Shape, Data: data, Quant: quant})
		consume(c, x.Name, uint32(i))
	}
	b, err := c.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// consume adds a constant to the operator of its layer, the part of its name
// before the dot; each layer feeds the next.
func consume(c *mobi.Config, name string, id uint32) {
	layer, _, _ := strings.Cut(name, ".")
	const values = 1000 // ids between layers begin here
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

// TestMOBISizes: the files meet the specification's sizes, and half of the
// float32 original. (Types of 16 bits are exactly half of it; without
// compression headers, operators and scales come on top.)
func TestMOBISizes(t *testing.T) {
	for _, m := range mobiModels {
		for _, d := range mobiTypes {
			for _, level := range []int{0, 6} {
				t.Run(fmt.Sprintf("%s/%v/gzip%d", m.name, d, level), func(t *testing.T) {
					b := m.encoded(t, d, level)
					limit := m.float32Size() / 2
					if level == 0 && d.Size() == 2 {
						limit += mobiOverhead(t, b)
					}
					if size := int64(len(b)); size > limit || float64(size) >= m.mb*1e6 {
						t.Errorf("%d bytes, %.1f %% of float32; at most %d and %v MB", size, 100*float64(size)/float64(m.float32Size()), limit, m.mb)
					}
					if err := mobi.ValidateBytes(b); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// mobiOverhead returns the bytes of a file that are not tensor data.
func mobiOverhead(t *testing.T, b []byte) int64 {
	f, err := mobi.OpenBytes(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := int64(len(b))
	for _, v := range f.Tensors() {
		n -= v.Info().Size
	}
	return n
}

// mobiTargets: the header is parsed by opening; a load is opening, both
// checksums verified, and a look at every weight. The floors are mapping the
// file, and mapping it and reading every byte.
func mobiTargets() (all []target) {
	for _, m := range mobiModels {
		for _, d := range mobiTypes {
			for i, kind := range []string{"plain", "gzip"} {
				path := filepath.Join(temp, fmt.Sprintf("%s-%v-%s.mobi", m.name, d, kind))
				written := func(b *testing.B) string {
					if _, err := os.Stat(path); err != nil {
						if err := os.WriteFile(path, m.encoded(b, d, 6*i), 0o666); err != nil {
							b.Fatal(err)
						}
					}
					return path
				}
				name := fmt.Sprintf("mobi/%s/%v/%s/", m.name, d, kind)
				all = append(all,
					target{name: name + "header", limit: 1, unit: "ms", figure: func(b *testing.B) float64 {
						return opened(b, written(b))
					}},
					target{name: name + "load", limit: m.ms, unit: "ms", figure: func(b *testing.B) float64 {
						return loaded(b, written(b))
					}},
					target{name: name + "size", limit: m.mb, unit: "MB", figure: func(b *testing.B) float64 {
						return megabytes(b, written(b))
					}})
			}
		}
	}
	return all
}
