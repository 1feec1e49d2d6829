package mobi

import (
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// convolution returns a schema with everything that a file can hold of a neutral
// graph: two inputs, two outputs, values between operators, attributes of every
// type, and quantized constants.
func convolution() *schema.Schema {
	return &schema.Schema{
		Metadata: schema.Metadata{
			{Key: keyName, Value: "cnn"},
			{Key: keyFramework, Value: int64(0x0001_0203)},
			{Key: keyCreated, Value: int64(1_700_000_000)},
			{Key: keyFlags, Value: int64(0x8000_0005)},
		},
		Tensors: []tensor.Info{
			{Name: "3", DType: tensor.Int8, Shape: tensor.Shape{3, 5, 1, 1}, Quant: &tensor.Quantization{
				Axis: 0, Scales: []float32{0.5, 0.25, 1}, ZeroPoints: []int32{1, 0, -7}}},
			{Name: "1", DType: tensor.Float32, Shape: tensor.Shape{3}},
			{Name: "4294967295", DType: tensor.Int16, Shape: tensor.Shape{3, 7}, Quant: &tensor.Quantization{
				Axis: tensor.PerTensor, Scales: []float32{0.125}, ZeroPoints: []int32{0}}},
			{Name: "7", DType: tensor.Int32, Shape: tensor.Shape{}},
			{Name: "8", DType: tensor.Float16, Shape: tensor.Shape{0, 4}},
		},
		Graph: &schema.Graph{
			Inputs: []schema.ValueInfo{
				{Name: "image", DType: tensor.Float32, Dims: []schema.Dim{{Size: schema.DynamicDim}, {Size: 5}, {Size: 4}, {Size: 4}}},
				{Name: "mask", DType: tensor.Int8, Dims: schema.FixedDims(4, 4)},
			},
			Outputs: []schema.ValueInfo{
				{Name: "scores", DType: tensor.Float16, Dims: schema.FixedDims(7)},
				{Name: "debug", Dims: []schema.Dim{}},
			},
			Nodes: []schema.Node{
				{Op: "Conv2D", Inputs: []string{"image", "3", "1"}, Outputs: []string{"0", "debug"}, Attributes: []schema.Attribute{
					{Name: "stride", Value: int64(2)}, {Name: "big", Value: int64(1) << 40}, {Name: "alpha", Value: float32(0.1)},
					{Name: "eps", Value: 1e-9}, {Name: "bias", Value: true}, {Name: "pads", Value: []int32{1, -1}},
					{Name: "ratios", Value: []float32{0.5, 2}}, {Name: "mode", Value: "same\x00é"}, {Name: "wide", Value: []int64{-1, 1 << 50}},
					{Name: "none", Value: []int32{}},
				}},
				{Op: "4711", Inputs: []string{"0", "mask"}, Outputs: []string{"2"}},
				{Op: "FullyConnected", Inputs: []string{"2", "4294967295", "2"}, Outputs: []string{"scores"}},
			},
		},
	}
}

// withFields adds to a schema the metadata that every file has, and removes the
// quantization parameters, which the writer adds, from the attributes.
func withFields(p *schema.Schema) *schema.Schema {
	c := *p
	if c.Graph == nil {
		c.Graph = &schema.Graph{}
	}
	g := *c.Graph
	g.Nodes = nil
	for _, n := range c.Graph.Nodes {
		attrs := n.Attributes
		n.Attributes = nil
		for _, a := range attrs {
			if _, ok := quantParam(a.Name); !ok {
				n.Attributes = append(n.Attributes, a)
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	c.Graph = &g
	if len(c.Metadata) == 0 {
		flags := Flags(0)
		for _, t := range c.Tensors {
			if t.DType == tensor.Float16 {
				flags |= FlagFloat16
			}
		}
		c.Metadata = schema.Metadata{
			{Key: keyName, Value: ""}, {Key: keyFramework, Value: int64(0)},
			{Key: keyCreated, Value: int64(1709210096)}, {Key: keyFlags, Value: int64(flags)},
		}
	}
	return &c
}

// foreign returns a file that the writer never makes: misaligned, in another order,
// with padding and a gap, without a header checksum, and with a CRC-32 footer.
func foreign() formattest.File {
	b := with(func(m *image) {
		m.ascii, m.crc, m.noSum = true, true, true
		m.gap, m.pad = []byte("anything"), make([]byte, 71)
		m.records[0], m.records[1] = m.records[1], m.records[0]
		m.records = append(m.records, recordOf(1, 4, []uint64{50}, corpus.Gzip(make([]byte, 200))))
	})
	return formattest.File{Name: "foreign", Bytes: b, Data: map[string][]byte{
		"7": {0xFF, 0, 1}, "9": f32s(1, -2), "1": make([]byte, 200),
	}}
}

// scaleSchema returns a schema of n numbered constants.
func scaleSchema(n int, elems int64) *schema.Schema {
	p := &schema.Schema{Tensors: make([]tensor.Info, n)}
	for i := range p.Tensors {
		p.Tensors[i] = tensor.Info{Name: constantName(uint32(i)), DType: tensor.Float32, Shape: tensor.Shape{elems}}
	}
	return p
}

func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	small := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: fileDTypes, Name: formattest.Decimal, Zero: true})
	zeros := func(t tensor.Info) []byte { return make([]byte, t.Size) }
	formattest.Run(t, formattest.Config{
		Format:  Format{},
		Neutral: withFields, Reorders: true, ReadsAll: true, ZeroCopy: true, Scale: scaleSchema, MaxAllocs: 28,
		Samples: []formattest.Sample{
			{Name: "small", Schema: small, Structural: formattest.Whole},
			{Name: "empty", Schema: &schema.Schema{}, Structural: formattest.Whole},
			{Name: "graph", Schema: convolution(), Structural: formattest.Whole},
			{Name: "crc", Schema: small, Write: &format.WriteOptions{Format: Format{Footer: CRC32}}, Structural: formattest.Whole},
			{Name: "gzip", Schema: convolution(), Write: &format.WriteOptions{Compression: "gzip", Level: 9},
				Structural: formattest.Whole, Slack: 128 << 10, Data: zeros},
			{Name: "gzip mixed", Schema: small, Write: &format.WriteOptions{Compression: "gzip", Level: 1},
				Structural: formattest.Whole, Slack: 128 << 10,
				Data: func(t tensor.Info) []byte {
					if t.Name == "0" {
						return formattest.Fill(t)
					}
					return zeros(t)
				}},
		},
		Files: []formattest.File{foreign()},
	})
}

// FuzzFile opens, verifies and decodes its input.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	f.Add(packed())
	formattest.Fuzz(f, formattest.Config{Format: Format{}, ReadsAll: true})
}
