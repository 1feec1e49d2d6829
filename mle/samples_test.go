package mle

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	_ "github.com/weightmap/weightmap/mle/brotli"
	"github.com/weightmap/weightmap/tensor"
)

var equateEmpty = cmpopts.EquateEmpty()

// verify verifies a file and drops the Coverage.
func verify(f *File) error {
	_, err := f.Verify(context.Background(), nil)
	return err
}

// verifySigner verifies that the holder of key signed the file.
func verifySigner(f *File, key crypto.PublicKey) error {
	_, err := f.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(key)})
	return err
}

// view returns a tensor, which must exist.
func view(t testing.TB, f *File, name string) tensor.View {
	t.Helper()
	v, err := f.Tensor(name)
	expect.OK(t, err)
	return v
}

var testKey = []byte("0123456789abcdef0123456789ABCDEF")

var testSigner = ed25519.NewKeyFromSeed([]byte("weightmap test seed, 32 bytes ok"))

// floatSchema returns a schema of float32 tensors, which every method can store.
func floatSchema() *schema.Schema {
	return &schema.Schema{
		Metadata: schema.Metadata{
			{Key: "model_name", Value: "Größe \"q\" <&>"}, {Key: "n", Value: int64(-3)}, {Key: "x", Value: json.Number("1.50")},
			{Key: "list", Value: json.RawMessage(`[1, 2, {"a": null}]`)}, {Key: "yes", Value: true}, {Key: "nothing", Value: nil},
		},
		Tensors: []tensor.Info{
			{Name: "fc1.weight", DType: tensor.Float32, Shape: tensor.Shape{5, 7}},
			{Name: "fc1.bias", DType: tensor.Float32, Shape: tensor.Shape{5}},
			{Name: "scale", DType: tensor.Float32, Shape: tensor.Shape{}},
			{Name: "fc2.weight", DType: tensor.Float32, Shape: tensor.Shape{3, 5, 1, 1, 1, 1, 1, 1}},
		},
		Graph: &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []schema.Dim{{Size: schema.DynamicDim}, {Size: 7}}}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 3)}},
			Nodes: []schema.Node{
				{Op: "Linear", Inputs: []string{"x", "fc1.weight", "fc1.bias"}, Outputs: []string{"h"}},
				{Op: "Mul", Inputs: []string{"scale", "h"}, Outputs: []string{"h2"}, Attributes: []schema.Attribute{
					{Name: "alpha", Value: 0.25}, {Name: "axes", Value: []int64{0, -1}}, {Name: "mode", Value: "same"},
					{Name: "flag", Value: false}, {Name: "k", Value: int64(3)}, {Name: "f", Value: []float64{1, 0.5}},
					{Name: "s", Value: []string{"a", "b"}}, {Name: "any", Value: json.RawMessage(`{"a":[]}`)},
				}},
				{Op: "4711", Inputs: []string{"h2", "fc2.weight"}, Outputs: []string{"y"}},
			},
		},
	}
}

// mixedSchema returns a schema with every dtype.
func mixedSchema() *schema.Schema {
	p := floatSchema()
	p.Tensors = append(p.Tensors,
		tensor.Info{Name: "half", DType: tensor.Float16, Shape: tensor.Shape{9}},
		tensor.Info{Name: "bytes", DType: tensor.Int8, Shape: tensor.Shape{3, 7}},
		tensor.Info{Name: "ints", DType: tensor.Int32, Shape: tensor.Shape{2, 3, 4}},
	)
	return p
}
