package gguf

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// dtypes are what the format has.
var dtypes = []tensor.DType{
	tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
}

// foreignFiles are what the writer would not make.
func foreignFiles() []formattest.File {
	old, odd := small(), small()
	old.version, old.unpadded = 2, true
	old.tensors[2].offset = ptr(uint64(0)) // over the first
	odd.tensors[1].dims, odd.tensors[1].data = []uint64{0, 9}, nil
	odd.tensors[2].offset, odd.extra = ptr(uint64(192)), 264 // after a hole
	return []formattest.File{{Name: "version 2, overlapping, unpadded", Bytes: old.bytes()}, {Name: "hole, dim of 0, trailing bytes", Bytes: odd.bytes()}}
}

func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	meta := schema.Metadata{
		{Key: "general.architecture", Value: "test"}, {Key: "n", Value: int64(-7)}, {Key: "eps", Value: 0.1}, {Key: "yes", Value: true},
		{Key: "tokens", Value: json.RawMessage(`["a","b"]`)}, {Key: "large", Value: json.Number("18446744073709551615")},
	}
	small := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: dtypes})
	small.Metadata = meta
	long := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: dtypes, Tensors: 3, Name: formattest.LongName})
	blocks := &schema.Schema{}
	for _, code := range []int{2, 8, 12, 14, 20} {
		e := elementTypes[code].encoding
		blocks.Tensors = append(blocks.Tensors, tensor.Info{Name: e.Name, Encoding: e, Shape: tensor.Shape{2, e.BlockElems}})
	}
	widened := *long
	widened.Metadata = schema.Metadata{{Key: keyAlignment, Value: int64(256)}}
	const noSums = "the format has no checksums"
	formattest.Run(t, formattest.Config{
		Format:   Format{},
		Trailing: true, ZeroCopy: true, Align: 32,
		Samples: []formattest.Sample{
			{Name: "small", Schema: small},
			{Name: "long", Schema: long},
			{Name: "empty", Schema: &schema.Schema{}},
			{Name: "metadata", Schema: &schema.Schema{Metadata: meta}},
			{Name: "wide", Schema: &widened, Write: &format.WriteOptions{Align: 256}},
			{Name: "blocks", Schema: blocks},
		},
		Files: foreignFiles(),
		Exempt: map[string]string{
			"BitFlips":    noSums,
			"Overlap":     "tensors may overlap, which is noted",
			"CoveredData": noSums,
		},
	})
}

// FuzzOpen opens, verifies and decodes its input.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	all := fields{magic: "GGUF", version: 2, unpadded: true}
	for _, v := range values {
		all.entries = append(all.entries, kv{v.name, v.typ, v.value})
	}
	for code, e := range elementTypes {
		if !e.sized() || e.encoding == nil {
			continue
		}
		all.tensors = append(all.tensors, info{name: e.encoding.Name, dims: []uint64{uint64(e.encoding.BlockElems)}, typ: uint32(code), data: make([]byte, e.encoding.BlockBytes)})
	}
	f.Add(all.bytes())
	formattest.Fuzz(f, formattest.Config{Format: Format{}, Trailing: true})
}
