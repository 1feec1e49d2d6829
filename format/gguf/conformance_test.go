package gguf

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/tensor"
)

// dtypes are what the format has.
var dtypes = []tensor.DType{
	tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
}

// foreignFiles are what the writer would not make.
func foreignFiles() (files []formattest.File) {
	for name, change := range map[string]func(*fields){
		"version 2":      func(f *fields) { f.version = 2 },
		"unpadded":       func(f *fields) { f.unpadded = true },
		"trailing bytes": func(f *fields) { f.extra = 100 },
		"overlapping":    func(f *fields) { f.tensors[2].offset = ptr(uint64(0)) },
		"hole":           func(f *fields) { f.tensors[2].offset, f.extra = ptr(uint64(192)), 64 },
		"dim of 0":       func(f *fields) { f.tensors[2].dims, f.tensors[2].data = []uint64{0, 9}, nil },
	} {
		f := small()
		change(&f)
		files = append(files, formattest.File{Name: name, Bytes: f.bytes()})
	}
	return files
}

func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	meta := format.Metadata{
		{Key: "general.architecture", Value: "test"}, {Key: "n", Value: int64(-7)}, {Key: "eps", Value: 0.1}, {Key: "yes", Value: true},
		{Key: "tokens", Value: json.RawMessage(`["a","b"]`)}, {Key: "large", Value: json.Number("18446744073709551615")},
	}
	small := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: dtypes, MaxRank: 4})
	small.Metadata = meta
	long := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: dtypes, MaxRank: 4, MinTensors: 3, Tensors: 3, Name: formattest.LongName})
	wide := format.With(fileFormat{align: 256})
	blocks := &format.Plan{}
	for _, code := range []int{2, 8, 12, 14, 20} {
		e := elementTypes[code].encoding
		blocks.Tensors = append(blocks.Tensors, tensor.Info{Name: e.Name, Encoding: e, Shape: tensor.Shape{2, e.BlockElems}})
	}
	widened := *long
	widened.Metadata = format.Metadata{{Key: keyAlignment, Value: int64(256)}}
	const noSums = "the format has no checksums"
	formattest.Run(t, formattest.Config{
		Codec:    codec,
		Trailing: true, ZeroCopy: true, Align: 32,
		Samples: []formattest.Sample{
			{Name: "small", Plan: small},
			{Name: "long", Plan: long},
			{Name: "empty", Plan: &format.Plan{}},
			{Name: "metadata", Plan: &format.Plan{Metadata: meta}},
			{Name: "wide", Plan: &widened, Codec: wide},
			{Name: "blocks", Plan: blocks},
		},
		Files: foreignFiles(),
		Exempt: map[string]string{
			"BitFlips":    noSums,
			"CoveredData": noSums,
			"CheckTouch":  noSums,
			"Overlap":     "tensors may overlap, which is noted",
			"Holes":       "bytes that no tensor covers are ignored",
		},
	})
}
