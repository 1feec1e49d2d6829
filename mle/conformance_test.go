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

// smallSchema returns a schema with three tensors, which have long names.
func smallSchema() *schema.Schema {
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: int64(1)}}}
	for i, d := range []tensor.DType{tensor.Float32, tensor.Int8, tensor.Float32} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf(formattest.LongName, i), DType: d, Shape: tensor.Shape{int64(i + 2)}})
	}
	return p
}

func samples() []formattest.Sample {
	var all []formattest.Sample
	add := func(name string, p *schema.Schema, o *format.WriteOptions) *formattest.Sample {
		// Checksums cover all but the padding, where changes are harmless.
		s := formattest.Sample{Name: name, Schema: p, Write: o, Structural: formattest.Whole}
		if o != nil && o.Key != nil {
			s.Random = true
			s.Options = &format.Options{Key: o.Key}
		}
		all = append(all, s)
		return &all[len(all)-1]
	}
	add("plain", mixedSchema(), nil)
	add("header128", smallSchema(), &format.WriteOptions{Format: Format{HeaderSize: 128}})
	add("version1", mixedSchema(), &format.WriteOptions{Format: Format{Version: 1}}).Structural = nil
	add("empty", &schema.Schema{}, nil)
	add("signed", smallSchema(), &format.WriteOptions{Signer: testSigner})
	for _, m := range lossless {
		add(m.Name(), mixedSchema(), &format.WriteOptions{Compression: m.Name()})
	}
	for _, m := range []Method{MethodInt8, MethodFloat16} {
		add(m.Name(), floatSchema(), &format.WriteOptions{Format: Format{Lossy: m}}).Data = exact
	}
	add("lz4 chunked", floatSchema(), &format.WriteOptions{Compression: "lz4", Format: Format{Chunked: true, ChunkSize: 64}})
	int8 := Format{Lossy: MethodInt8, Chunked: true, ChunkSize: 128}
	add("int8 chunked", floatSchema(), &format.WriteOptions{Format: int8}).Data = exact
	add("zstd chunked signed encrypted", mixedSchema(), &format.WriteOptions{Compression: "zstd", Level: 1,
		Key: testKey, Signer: testSigner, Format: Format{Chunked: true}})
	add("encrypted", smallSchema(), &format.WriteOptions{Key: testKey})
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
	formattest.Run(t, formattest.Config{Format: Format{}, Samples: samples(), Files: files(), Neutral: withoutNames, ZeroCopy: true, Align: 64, MaxAllocs: 40,
		Exempt: map[string]string{"Overlap": "constants may share bytes"}})
}

// FuzzFile opens, verifies and decodes its input.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	f.Add(written(f, mixedSchema(), nil))
	formattest.Fuzz(f, formattest.Config{Format: Format{}})
}
