// Package bench implements the benchmarks of the module's root: the models and their files, the
// figures that have limits, and the targets that specifications print.
package bench

import (
	"strconv"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/tensor"
)

// Model is a model to write in each format.
type Model struct {
	Name string
	// Plan returns the tensors and their concatenated data. It is computed once.
	Plan func() (p *format.Plan, data []byte)
}

// Models are 20 tensors in 2 MB, 300 in 100 MB, and 10,000 of 256 bytes.
var Models = []Model{
	{"small", planOf(testmodel.Small)},
	{"large", planOf(testmodel.Large)},
	{"many", planOf(testmodel.Many)},
}

func planOf(list func() []testmodel.Tensor) func() (*format.Plan, []byte) {
	return sync.OnceValues(func() (*format.Plan, []byte) { return gather(list()) })
}

// gather returns the plan of a list of tensors, and their data.
func gather(list []testmodel.Tensor) (*format.Plan, []byte) {
	p := &format.Plan{}
	var all []byte
	for _, t := range list {
		p.Tensors = append(p.Tensors, t.Info())
		all = append(all, t.Bytes()...)
	}
	return p, all
}

// numbered returns the plan with numbers as names, for formats without names.
func numbered(p *format.Plan) *format.Plan {
	n := &format.Plan{}
	for i, t := range p.Tensors {
		t.Name = strconv.Itoa(i)
		n.Tensors = append(n.Tensors, t)
	}
	return n
}

// single returns the model m as one tensor.
func single(m Model) Model {
	return Model{"single-" + m.Name, func() (*format.Plan, []byte) {
		_, data := m.Plan()
		n := int64(len(data))
		return &format.Plan{Tensors: []tensor.Info{{Name: "tensor", DType: tensor.Float32, Shape: tensor.Shape{n / 4}, Size: n}}}, data
	}}
}
