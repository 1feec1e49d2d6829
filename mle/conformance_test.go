package mle

import (
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// withoutNames removes the entry that the writer adds.
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

// smallPlan returns a plan with three tensors, which have long names.
func smallPlan() *format.Plan {
	p := &format.Plan{Metadata: format.Metadata{{Key: "a", Value: int64(1)}}}
	for i, d := range []tensor.DType{tensor.Float32, tensor.Int8, tensor.Float32} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: "encoder.layers.attention.output.weight." + strconv.Itoa(i), DType: d, Shape: tensor.Shape{int64(i + 2)}})
	}
	return p
}

func samples() []formattest.Sample {
	var all []formattest.Sample
	add := func(name string, p *format.Plan, o WriteOptions) {
		// Checksums cover all but the padding, where changes are harmless.
		s := formattest.Sample{Name: name, Plan: p, Codec: format.With(fileFormat{o}), Structural: formattest.Whole}
		if o.Version == 1 {
			s.Structural = nil
		}
		if o.Key != nil {
			s.Random, s.Options = true, &format.Options{Key: o.Key}
		}
		if o.Compression.lossy() {
			s.Data = exact
		}
		all = append(all, s)
	}
	add("plain", mixedPlan(), WriteOptions{})
	add("header128", smallPlan(), WriteOptions{HeaderSize: 128})
	add("version1", mixedPlan(), WriteOptions{Version: 1})
	add("empty", &format.Plan{}, WriteOptions{})
	add("signed", smallPlan(), WriteOptions{Signer: testSigner})
	for m := MethodLZ4; m <= MethodFloat16; m++ {
		p := mixedPlan()
		if m.lossy() {
			p = floatPlan()
		}
		add(m.Name(), p, WriteOptions{Compression: m})
	}
	add("lz4 chunked", floatPlan(), WriteOptions{Compression: MethodLZ4, Chunked: true, ChunkSize: 64})
	add("int8 chunked", floatPlan(), WriteOptions{Compression: MethodInt8, Chunked: true, ChunkSize: 128})
	add("zstd chunked signed encrypted", mixedPlan(), WriteOptions{Compression: MethodZstd, Chunked: true, Key: testKey, Signer: testSigner, Level: 1})
	add("encrypted", smallPlan(), WriteOptions{Key: testKey})
	return all
}

// exact returns numbers that every method of compression keeps: whole ones, from 0 to 255 in every chunk.
func exact(t tensor.Info) []byte {
	list := make([]float32, t.Size/4)
	for i := range list {
		list[i] = []float32{0, 255, float32(i % 256)}[i%3]
	}
	return floats(list...)
}

// files returns files that the writer never makes.
func files() []formattest.File {
	golden := &format.Plan{Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}, {Name: "b", DType: tensor.Float32, Shape: tensor.Shape{2}},
	}}
	data := map[string][]byte{"w": floats(1, 2, 3, 4, 5, 6), "b": floats(-1, 0.5)}
	meta := `{"tensor_names":["w","x","b","y"]}`
	tied := plainGolden()
	tied.tensors[2] = gTensor{4, 8, []uint32{2}, 0}
	twice := plainGolden()
	twice.metadata = `{"tensor_names":["w","x","w","y"]}`
	bare := plainGolden()
	bare.noSums = true
	old := plainGolden()
	old.version = 1
	for _, g := range []*gFile{bare, old} {
		g.metadata, g.inputs, g.outputs, g.nodes, g.attributes = meta, nil, nil, nil, ""
	}
	return []formattest.File{
		{Name: "misaligned, without gaps", Bytes: plainGolden().build()},
		{Name: "no checksums", Bytes: bare.build(), Plan: golden, Data: data},
		{Name: "version 1 without gaps", Bytes: old.build(), Plan: golden, Data: data},
		{Name: "shared bytes", Bytes: tied.build()},
		{Name: "a name twice", Bytes: twice.build(), Want: format.ErrCorrupt, Field: namesKey},
		{Name: "bytes behind the weights", Bytes: append(plainGolden().build(), 0), Want: format.ErrCorrupt, Field: "file size"},
		{Name: "section over another", Bytes: set64(32, 140)(plainGolden().build()), Want: format.ErrCorrupt, Field: "graph_offset"},
		{Name: "chunked", Bytes: chunkedGolden(zstdRaw, MethodZstd).build()},
	}
}

func config() formattest.Config {
	return formattest.Config{Codec: codec, Samples: samples(), Files: files(), Neutral: withoutNames, ZeroCopy: true, Align: 64, Scale: scale, MaxAllocs: 36}
}

func scale(n int, elems int64) *format.Plan {
	p := &format.Plan{}
	for i := range n {
		name := "encoder.layers.attention.output.weight." + strconv.Itoa(i)
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{elems}})
	}
	return p
}

func TestConformance(t *testing.T) { formattest.Run(t, config()) }

// FuzzFile opens, verifies and decodes its input.
func FuzzFile(f *testing.F) {
	c := config()
	for i := range c.Samples {
		if i%3 == 0 {
			f.Add(written(f, c.Samples[i].Plan, &WriteOptions{}))
		}
	}
	corpus.Seed(f)
	c.Samples, c.Files = nil, nil
	formattest.Fuzz(f, c)
}
