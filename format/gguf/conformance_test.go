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
func foreignFiles() []formattest.File {
	plan := func(shapes ...tensor.Shape) *format.Plan {
		p := &format.Plan{}
		for i, s := range shapes {
			p.Tensors = append(p.Tensors, tensor.Info{Name: string(rune('a' + i)), DType: tensor.Int8, Shape: s})
		}
		return p
	}
	file := func(change func(*fields)) []byte {
		f := fields{magic: "GGUF", version: 3, tensors: []info{
			{name: "a", dims: []uint64{2, 3}, typ: 24, data: []byte{1, 2, 3, 4, 5, 6}},
			{name: "b", dims: []uint64{4}, typ: 24, data: []byte{7, 8, 9, 10}},
		}}
		change(&f)
		return f.bytes()
	}
	both := plan(tensor.Shape{3, 2}, tensor.Shape{4})
	data := func(b ...byte) map[string][]byte { return map[string][]byte{"a": {1, 2, 3, 4, 5, 6}, "b": b} }
	return []formattest.File{
		{Name: "version 2", Bytes: file(func(f *fields) { f.version = 2 }), Plan: both, Data: data(7, 8, 9, 10)},
		{Name: "unpadded", Bytes: file(func(f *fields) { f.unpadded = true }), Plan: both, Data: data(7, 8, 9, 10)},
		{Name: "trailing bytes", Bytes: file(func(f *fields) { f.extra = 100 }), Plan: both, Data: data(7, 8, 9, 10)},
		{Name: "overlapping", Bytes: file(func(f *fields) { f.tensors[1].offset = ptr(uint64(0)) }), Plan: both, Data: data(1, 2, 3, 4)},
		{Name: "hole", Bytes: file(func(f *fields) { f.tensors[1].offset, f.extra = ptr(uint64(64)), 64 }), Plan: both, Data: data(0, 0, 0, 0)},
		{Name: "dim of 0", Bytes: file(func(f *fields) { f.tensors[1] = info{name: "b", dims: []uint64{0, 9}, typ: 24} }), Plan: plan(tensor.Shape{3, 2}, tensor.Shape{9, 0}), Data: data()},
	}
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
