package compare

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestGraphText: nothing of a node is left out, and values have an order of their own.
func TestGraphText(t *testing.T) {
	v, err := tensor.FromBytes("v", tensor.Int8, tensor.Shape{0}, nil)
	expect.OK(t, err)
	const sum = "int8[0] xxh64 ef46db3751d8e999" // of no bytes
	sub := &schema.Graph{Name: "sub", Nodes: []schema.Node{{Op: "Id", Inputs: []string{"a"}, Outputs: []string{"b"}}}}
	n := &schema.Node{Name: "n", Domain: "ml", Op: "If", Inputs: []string{"x", "y"}, Outputs: []string{"z"}, Attributes: []schema.Attribute{
		{Name: "z", Value: v}, {Name: "views", Value: []tensor.View{v, v}}, {Name: "else", Value: sub}, {Name: "both", Value: []*schema.Graph{sub, {}}},
		{Name: "n", Value: []int64{1}}, {Name: "nan", Value: math.NaN()},
	}}
	got, err := nodeText(n)
	want := "n: ml.If(x, y) -> z both=({graph sub; Id(a) -> b}; {graph}) else=({graph sub; Id(a) -> b}) n=[1] nan=NaN views=(" + sum + "; " + sum + ") z=(" + sum + ")"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
