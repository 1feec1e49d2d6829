package mle

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// withoutNames removes the entry that the writer adds.
func withoutNames(p *schema.Schema) *schema.Schema {
	p.Metadata = slices.DeleteFunc(slices.Clone(p.Metadata), func(e schema.Entry) bool { return e.Key == namesKey })
	return p
}

// smallPlan returns a schema with three tensors, which have long names.
func smallPlan() *schema.Schema {
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: int64(1)}}}
	for i, d := range []tensor.DType{tensor.Float32, tensor.Int8, tensor.Float32} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf(formattest.LongName, i), DType: d, Shape: tensor.Shape{int64(i + 2)}})
	}
	return p
}

func samples() []formattest.Sample {
	var all []formattest.Sample
	add := func(name string, p *schema.Schema, o WriteOptions) {
		// Checksums cover all but the padding, where changes are harmless.
		s := formattest.Sample{Name: name, Schema: p, Codec: format.With(fileFormat{o}), Structural: formattest.Whole}
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
	add("empty", &schema.Schema{}, WriteOptions{})
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
	tied := plainGolden()
	tied.tensors[2] = gTensor{4, 8, []uint32{2}, 0}
	bare, old := plainGolden(), plainGolden()
	bare.noSums, old.version = true, 1
	return []formattest.File{
		{Name: "misaligned, without gaps", Bytes: plainGolden().build()},
		{Name: "no checksums", Bytes: bare.build()},
		{Name: "version 1 without gaps", Bytes: old.build()},
		{Name: "shared bytes", Bytes: tied.build()},
		{Name: "chunked", Bytes: chunkedGolden(corpus.Zstd, MethodZstd).build()},
	}
}

func TestConformance(t *testing.T) {
	formattest.Run(t, formattest.Config{Codec: codec, Samples: samples(), Files: files(), Neutral: withoutNames, ZeroCopy: true, Align: 64, MaxAllocs: 36,
		Exempt: map[string]string{"Overlap": "constants may share bytes"}})
}

// FuzzFile opens, verifies and decodes its input.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	f.Add(written(f, mixedPlan(), &WriteOptions{}))
	formattest.Fuzz(f, formattest.Config{Codec: codec})
}
