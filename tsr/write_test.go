package tsr

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// refusedPlans lists plans that neither a file nor a directory can hold.
var refusedPlans = []struct {
	name  string
	plan  *format.Plan
	err   error // besides ErrPlan
	field string
}{
	{"nil", nil, format.ErrUnsupported, "tensors"},
	{"no tensors", &format.Plan{}, format.ErrUnsupported, "tensors"},
	{"float64", samplePlan(tensor.Float64, tensor.Shape{2}), format.ErrUnsupported, `tensor "tensor"`},
	{"bool", samplePlan(tensor.Bool, nil), format.ErrUnsupported, `tensor "tensor"`},
	{"no dtype", samplePlan(tensor.Invalid, nil), format.ErrDType, `tensor "tensor"`},
	{"rank 5", samplePlan(tensor.Int8, tensor.Shape{1, 1, 1, 1, 1}), format.ErrUnsupported, `tensor "tensor"`},
	{"large dim", samplePlan(tensor.Int8, tensor.Shape{0, math.MaxInt32 + 1}), format.ErrUnsupported, `tensor "tensor"`},
	{"negative dim", samplePlan(tensor.Int8, tensor.Shape{-1}), format.ErrShape, `tensor "tensor"`},
	{"overflow", samplePlan(tensor.Int8, tensor.Shape{1 << 30, 1 << 30, 1 << 30}), format.ErrShape, `tensor "tensor"`},
	{"metadata", &format.Plan{Metadata: format.Metadata{{Key: "a", Value: "b"}}, Tensors: samplePlan(tensor.Int8, nil).Tensors}, format.ErrUnsupported, `metadata "a"`},
	{"graph", &format.Plan{Graph: &format.Graph{Name: "g"}, Tensors: samplePlan(tensor.Int8, nil).Tensors}, format.ErrUnsupported, "graph"},
}

func TestRefusedPlans(t *testing.T) {
	for _, c := range refusedPlans {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, nil)
			_, stream := NewWriter(io.Discard, c.plan, nil)
			_, single := Create(dir+"/w.tsr", c.plan, nil)
			_, many := CreateDir(dir+"/m", c.plan, nil)
			for how, err := range map[string]error{"NewWriter": stream, "Create": single, "CreateDir": many} {
				var e *format.Error
				if !errors.As(err, &e) || !errors.Is(err, format.ErrPlan) || !errors.Is(err, c.err) || e.Field != c.field || e.Format != "tsr" {
					t.Errorf("%s: %v (%+v)", how, err, e)
				}
			}
			contains(t, dir)
		})
	}
}

// TestAcceptNames checks the file names of tensors whose names cannot be used.
func TestAcceptNames(t *testing.T) {
	p, data := &format.Plan{}, map[string][]byte{}
	for _, s := range []string{"Weight", "a/b", "weight", "a_b", "..", strings.Repeat("é", 126)} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: s, DType: tensor.Int8})
		data[s] = []byte{1}
	}
	dir := tree(t, nil)
	w, err := CreateDir(dir+"/m", p, &WriteOptions{WriteOptions: format.WriteOptions{AcceptLoss: []string{"name"}}})
	testhost.Must(t, err)
	finish(t, w, data)
	contains(t, dir+"/m", "Weight.tsr", "___.tsr", "a_b.tsr", "a_b_2.tsr", "weight_2.tsr", strings.Repeat("é", 120)+".tsr")
}
