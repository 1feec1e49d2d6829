package mle

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestLosses checks the losses of values that descriptors cannot hold, and of metadata
// with the key of the tensor names.
func TestLosses(t *testing.T) {
	input := func(v format.ValueInfo) *format.Plan {
		return &format.Plan{
			Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2}}},
			Graph:   &format.Graph{Inputs: []format.ValueInfo{v}},
		}
	}
	names := func(v any) *format.Plan {
		p := input(format.ValueInfo{Name: "x"})
		p.Metadata = format.Metadata{{Key: "tensor_names", Value: v}}
		return p
	}
	for _, c := range []struct {
		name string
		plan *format.Plan
		want []string
	}{
		{"nothing known", input(format.ValueInfo{Name: "x"}), nil},
		{"dtype", input(format.ValueInfo{Name: "x", DType: tensor.Float64}), []string{"value:x"}},
		{"code", input(format.ValueInfo{Name: "x", Code: "77"}), []string{"value:x"}},
		{"scalar", input(format.ValueInfo{Name: "x", Dims: []format.Dim{}}), []string{"value:x"}},
		{"the dim that means any", input(format.ValueInfo{Name: "x", Dims: format.FixedDims(math.MaxUint32)}), []string{"value:x"}},
		{"symbol", input(format.ValueInfo{Name: "x", Dims: []format.Dim{{Size: format.DynamicDim, Symbol: "n"}}}), []string{"label:x dim 0 (n)"}},
		{"large dim", input(format.ValueInfo{Name: "x", Dims: format.FixedDims(1 << 32)}), []string{"graph:inputs[0] (x)"}},
		{"tensor as it is", input(format.ValueInfo{Name: "w", DType: tensor.Float32, Dims: format.FixedDims(2)}), nil},
		{"tensor of another dtype", input(format.ValueInfo{Name: "w", DType: tensor.Int8}), []string{"value:w"}},
		{"names", names(json.RawMessage(`["v","w","x"]`)), nil},
		{"names of others", names(json.RawMessage(`["v"]`)), []string{"metadata:tensor_names"}},
		{"names that are none", names(json.RawMessage(`["w",1]`)), []string{"metadata:tensor_names"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := NewWriter(io.Discard, c.plan, nil)
			var items []string
			var lost *format.LossError
			if errors.As(err, &lost) {
				for _, l := range lost.Losses {
					items = append(items, l.Item())
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				w.Abort()
			}
			if diff := cmp.Diff(c.want, items, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
