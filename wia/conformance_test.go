package wia

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	mrand "math/rand/v2"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/formattest"
	"github.com/weightmap/weightmap/tensor"
)

var testKey = bytes.Repeat([]byte{7}, 32)

func allDTypes() []tensor.DType { return dtypes[1:] }

// samplePlan has tensors of all dtypes, quantisation, metadata and a graph.
func samplePlan(t testing.TB) *format.Plan {
	t.Helper()
	p := formattest.RandomPlan(mrand.New(mrand.NewPCG(3, 4)), formattest.PlanOptions{DTypes: allDTypes(), Zero: true})
	p.Tensors = append(p.Tensors,
		tensor.Info{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{-3}, Axis: tensor.PerTensor}},
		tensor.Info{Name: "pc", DType: tensor.Uint8, Shape: tensor.Shape{3, 2}, Quant: &tensor.Quantization{Scheme: tensor.Logarithmic, Scales: []float32{1, 2, 3}, ZeroPoints: []int32{0, 1, -1}, Axis: 0}},
		tensor.Info{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{4, 4}})
	p.Metadata = format.Metadata{{Key: "model_info", Value: json.RawMessage(`{"name":"m"}`)}, {Key: "x", Value: int64(1)}}
	k, err := tensor.FromBytes("", tensor.Float32, tensor.Shape{2}, make([]byte, 8))
	if err != nil {
		t.Fatal(err)
	}
	p.Graph = &format.Graph{
		Name:    "main",
		Inputs:  []format.ValueInfo{{Name: "in", DType: tensor.Float32, Dims: []format.Dim{{Size: -1, Symbol: "batch"}, {Size: 4}, {Size: -1}}}},
		Outputs: []format.ValueInfo{{Name: "y"}},
		Nodes: []format.Node{
			{Name: "n", Op: "Gemm", Domain: "com.example", Inputs: []string{"in", "w", ""}, Outputs: []string{"y"}, Attributes: []format.Attribute{
				{Name: "a", Value: int64(0)}, {Name: "b", Value: float32(0.5)}, {Name: "c", Value: "text"}, {Name: "d", Value: []int64{1, -1}},
				{Name: "e", Value: []float32{1, 2}}, {Name: "f", Value: []string{"x", ""}}, {Name: "g", Value: k}, {Name: "h", Value: []tensor.View{k, k}},
				{Name: "i", Value: &format.Graph{Name: "sub", Nodes: []format.Node{{Op: "Relu", Inputs: []string{"y"}, Outputs: []string{"z"}}}, Initializers: []string{}}},
				{Name: "j", Value: []*format.Graph{{Name: "s0", Initializers: []string{}}, {Name: "s1", Initializers: []string{}}}},
			}},
		},
		Initializers: []string{"w", "q"},
	}
	return p
}

func ecdsaKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// covered is the header, minus nothing, and all blocks but the signature block:
// what checksums cover.
func covered(b []byte) []formattest.Range {
	f, err := OpenBytes(b, &format.Options{Key: testKey})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var out []formattest.Range
	out = append(out, formattest.Range{From: 0, To: headerSize})
	for _, s := range f.hdr.blocks[:signatureBlock] {
		out = append(out, formattest.Range{From: int(s.off), To: int(s.end())})
	}
	return out
}

// alternate stores tensors plainly, as gzip and as zstd.
func alternate(info tensor.Info) Compression { return Compression(len(info.Name) % 3) }

// writeSample writes a plan with arbitrary data, from memory to memory.
func writeSample(t testing.TB, p *format.Plan, o *WriteOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	own := o.withDefaults()
	own.Spool, own.Time = format.SpoolMemory, time.Unix(1700000000, 0)
	w, err := NewWriter(&out, p, own)
	if err != nil {
		t.Fatal(err)
	}
	feed(t, w, p)
	return out.Bytes()
}

// feed writes all tensors and closes.
func feed(t testing.TB, w format.Writer, p *format.Plan) {
	t.Helper()
	for _, info := range p.Tensors {
		if err := w.WriteTensor(info.Name, bytes.NewReader(formattest.Fill(info))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// tinyPlan has what changes the layout and little more: the kit looks at every
// bit of a file.
func tinyPlan() *format.Plan {
	return &format.Plan{
		Metadata: format.Metadata{{Key: "a", Value: "b"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{30}},
			{Name: "empty", DType: tensor.Int64, Shape: tensor.Shape{0, 2}},
			{Name: "bb", DType: tensor.BFloat16, Shape: tensor.Shape{}},
			{Name: "q", DType: tensor.Int8, Shape: tensor.Shape{2}, Quant: &tensor.Quantization{Scales: []float32{1, 2}, Axis: 0}},
		},
		Graph: &format.Graph{Nodes: []format.Node{{Op: "Relu", Inputs: []string{"w"}, Outputs: []string{"y"}}}, Initializers: []string{"w"}},
	}
}

func TestConformance(t *testing.T) {
	full, plan := samplePlan(t), tinyPlan()
	formattest.Run(t, formattest.Config{
		Codec: &wiaCodec, ZeroCopy: true, Align: alignment,
		Samples: []formattest.Sample{
			{Name: "full", Plan: full},
			{Name: "plain", Plan: plan, Structural: covered},
			{Name: "empty", Plan: &format.Plan{}, Structural: covered},
			{Name: "gzip", Plan: plan, Structural: covered, Codec: (&WriteOptions{Compression: Gzip}).codec(), Slack: 1 << 20},
			{Name: "zstd", Plan: plan, Structural: covered, Codec: (&WriteOptions{Compression: Zstd}).codec(), Slack: 4 << 20},
		},
	})
	formattest.Run(t, formattest.Config{
		Codec: &wiaCodec,
		Samples: []formattest.Sample{
			{Name: "full compressed", Plan: full, Codec: (&WriteOptions{Compression: Zstd, CompressTensor: alternate}).codec(), Slack: 4 << 20},
			{Name: "tensors", Plan: plan, Structural: covered, Codec: (&WriteOptions{CompressTensor: alternate}).codec(), Slack: 4 << 20},
			{Name: "both", Plan: plan, Structural: covered, Codec: (&WriteOptions{Compression: Zstd, CompressTensor: alternate}).codec(), Slack: 4 << 20},
			{Name: "encrypted", Plan: plan, Structural: covered, Codec: (&WriteOptions{Key: testKey}).codec(), Options: &format.Options{Key: testKey}, Random: true},
			{Name: "all", Plan: plan, Codec: (&WriteOptions{Compression: Gzip, CompressTensor: alternate, Key: testKey, Signer: rsaKey(t)}).codec(),
				Options: &format.Options{Key: testKey}, Random: true, Slack: 4 << 20},
			{Name: "rsa", Plan: plan, Structural: covered, Codec: (&WriteOptions{Signer: rsaKey(t)}).codec()},
			{Name: "ecdsa", Plan: plan, Structural: covered, Codec: (&WriteOptions{Signer: ecdsaKey(t)}).codec()},
		},
	})
}
