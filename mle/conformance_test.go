package mle

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/formattest"
	"github.com/weightmap/weightmap/tensor"
)

var testKey = []byte("0123456789abcdef0123456789ABCDEF")

var testSigner = ed25519.NewKeyFromSeed([]byte("weightmap test seed, 32 bytes ok"))

// floatPlan is a model of float32 tensors, which every method takes.
func floatPlan() *format.Plan {
	return &format.Plan{
		Metadata: format.Metadata{
			{Key: "model_name", Value: "Größe \"q\" <&>"}, {Key: "n", Value: int64(-3)}, {Key: "x", Value: json.Number("1.50")},
			{Key: "list", Value: json.RawMessage(`[1, 2, {"a": null}]`)}, {Key: "yes", Value: true}, {Key: "nothing", Value: nil},
		},
		Tensors: []tensor.Info{
			{Name: "fc1.weight", DType: tensor.Float32, Shape: tensor.Shape{5, 7}},
			{Name: "fc1.bias", DType: tensor.Float32, Shape: tensor.Shape{5}},
			{Name: "scale", DType: tensor.Float32, Shape: tensor.Shape{}},
			{Name: "fc2.weight", DType: tensor.Float32, Shape: tensor.Shape{3, 5, 1, 1, 1, 1, 1, 1}},
		},
		Graph: &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: []format.Dim{{Size: format.DynamicDim}, {Size: 7}}}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(1, 3)}},
			Nodes: []format.Node{
				{Op: "Linear", Inputs: []string{"x", "fc1.weight", "fc1.bias"}, Outputs: []string{"h"}},
				{Op: "Mul", Inputs: []string{"scale", "h"}, Outputs: []string{"h2"}, Attributes: []format.Attribute{
					{Name: "alpha", Value: 0.25}, {Name: "axes", Value: []int64{0, -1}}, {Name: "mode", Value: "same"},
					{Name: "flag", Value: false}, {Name: "k", Value: int64(3)}, {Name: "f", Value: []float64{1, 0.5}},
					{Name: "s", Value: []string{"a", "b"}}, {Name: "any", Value: json.RawMessage(`{"a":[]}`)},
				}},
				{Op: "4711", Inputs: []string{"h2", "fc2.weight"}, Outputs: []string{"y"}},
			},
		},
	}
}

// mixedPlan has every dtype.
func mixedPlan() *format.Plan {
	p := floatPlan()
	p.Tensors = append(p.Tensors,
		tensor.Info{Name: "half", DType: tensor.Float16, Shape: tensor.Shape{9}},
		tensor.Info{Name: "bytes", DType: tensor.Int8, Shape: tensor.Shape{3, 7}},
		tensor.Info{Name: "ints", DType: tensor.Int32, Shape: tensor.Shape{2, 3, 4}},
	)
	return p
}

// withoutNames takes out the entry that the writer adds.
func withoutNames(p *format.Plan) *format.Plan {
	var kept format.Metadata
	for _, e := range p.Metadata {
		if e.Key != namesKey {
			kept = append(kept, e)
		}
	}
	p.Metadata = kept
	return p
}

// near accepts what a lossy method may change.
func near(tolerance float64) func(tensor.Info, []byte, []byte) error {
	return func(t tensor.Info, want, got []byte) error {
		a, b := floatsOf(nil, want), floatsOf(nil, got)
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > tolerance {
				return fmt.Errorf("element %d is %v, was %v", i, b[i], a[i])
			}
		}
		return nil
	}
}

// covered is what checksums cover: all but the padding between sections, of
// which changes are harmless.
func covered(file []byte) []formattest.Range { return formattest.Whole(file) }

func samples() []formattest.Sample {
	var all []formattest.Sample
	add := func(name string, p *format.Plan, o *WriteOptions, change func(*formattest.Sample)) {
		s := formattest.Sample{Name: name, Plan: p, Codec: o.codec(), Structural: covered}
		if o.Version == 1 {
			s.Structural = nil
		}
		if o.Key != nil {
			s.Random, s.Options = true, &format.Options{Key: o.Key}
		}
		switch o.Compression {
		case MethodInt8:
			s.Lossy = near(0.01)
		case MethodFloat16:
			s.Lossy = near(0.001)
		}
		if change != nil {
			change(&s)
		}
		all = append(all, s)
	}
	add("plain", mixedPlan(), &WriteOptions{}, nil)
	small := one(tensor.Int8, 3)
	small.Metadata = format.Metadata{{Key: "a", Value: int64(1)}}
	add("header128", small, &WriteOptions{HeaderSize: 128}, nil)
	add("version1", mixedPlan(), &WriteOptions{Version: 1}, nil)
	add("empty", &format.Plan{}, &WriteOptions{}, nil)
	add("signed", small, &WriteOptions{Signer: testSigner}, nil)
	for m := MethodLZ4; m <= MethodFloat16; m++ {
		p := mixedPlan()
		if m.lossy() {
			p = floatPlan()
		}
		add(m.Name(), p, &WriteOptions{Compression: m}, nil)
	}
	add("lz4 chunked", floatPlan(), &WriteOptions{Compression: MethodLZ4, Chunked: true, ChunkSize: 64}, nil)
	add("int8 chunked", floatPlan(), &WriteOptions{Compression: MethodInt8, Chunked: true, ChunkSize: 128}, nil)
	add("zstd chunked signed encrypted", mixedPlan(), &WriteOptions{Compression: MethodZstd, Chunked: true, Key: testKey, Signer: testSigner, Level: 1}, nil)
	add("encrypted", small, &WriteOptions{Key: testKey}, nil)
	return all
}

func config() formattest.Config {
	return formattest.Config{Codec: &codec, Samples: samples(), Neutral: withoutNames, ZeroCopy: true, Align: 64, Scale: scale}
}

func scale(n int, elems int64) *format.Plan {
	p := &format.Plan{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: "layer." + strconv.Itoa(i), DType: tensor.Float32, Shape: tensor.Shape{elems}})
	}
	return p
}

func TestConformance(t *testing.T) { formattest.Run(t, config()) }
