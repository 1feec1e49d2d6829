package safetensors

import (
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/tensor"
)

// foreignFiles returns valid files that this package's writer does not produce.
func foreignFiles() []formattest.File {
	one := func(name string, d tensor.DType, shape ...int64) tensor.Info {
		return tensor.Info{Name: name, DType: d, Shape: shape}
	}
	ab := map[string][]byte{"a": count(4), "b": {4, 5}}
	return []formattest.File{
		{Name: "header that is not padded", Bytes: fileOf(base, count(6)...), Data: ab,
			Plan: &format.Plan{Metadata: format.Metadata{{Key: "k", Value: "v"}}, Tensors: []tensor.Info{one("a", tensor.Float32, 1), one("b", tensor.Int8, 2)}}},
		{Name: "header in another order", Data: ab,
			Bytes: fileOf(`{"b":{"dtype":"I8","shape":[2],"data_offsets":[4,6]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  `, count(6)...),
			Plan:  &format.Plan{Tensors: []tensor.Info{one("b", tensor.Int8, 2), one("a", tensor.Float32, 1)}}},
		{Name: "listed dtypes", Bytes: fileOf(`{"a":{"dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"Q9","shape":[3],"data_offsets":[4,6]}}`, count(6)...)},
		{Name: "no tensors", Bytes: fileOf(` {} `), Plan: &format.Plan{}},
		{Name: "name twice", Bytes: fileOf(swap(`"b"`, `"a"`)(base), count(6)...), Want: format.ErrCorrupt, Field: `tensor "a"`},
		{Name: "overlap", Bytes: fileOf(swap(`[2],"data_offsets":[4`, `[3],"data_offsets":[3`)(base), count(6)...), Want: format.ErrCorrupt, Field: `tensor "b"`},
		{Name: "hole", Bytes: fileOf(swap(`[2],"data_offsets":[4`, `[1],"data_offsets":[5`)(base), count(6)...), Want: format.ErrCorrupt, Field: `tensor "b"`},
	}
}

// TestConformance runs the conformance kit. The header is text, so a flipped bit may give another
// valid name or dtype, which only the rules for ranges can detect.
func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var known []tensor.DType
	for _, d := range dtypes {
		if d.dtype != tensor.Invalid {
			known = append(known, d.dtype)
		}
	}
	several := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: known, MinTensors: 4})
	several.Metadata = format.Metadata{{Key: "format", Value: "pt"}, {Key: "", Value: "\"é\x00"}}
	long := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: known, MinRank: 1, MinTensors: 3, Tensors: 3, Name: formattest.LongName})
	listed := &format.Plan{Tensors: []tensor.Info{
		{Name: "four", Shape: tensor.Shape{3, 2}, Encoding: &tensor.Encoding{Name: "F4", BlockElems: 2, BlockBytes: 1}},
		{Name: "six", Shape: tensor.Shape{4}, Encoding: &tensor.Encoding{Name: "F6_E3M2", BlockElems: 4, BlockBytes: 3}},
		{Name: "scale", Shape: tensor.Shape{5}, Encoding: &tensor.Encoding{Name: "F8_E8M0", BlockElems: 1, BlockBytes: 1}},
	}}
	const noSums = "the format has no sums"
	formattest.Run(t, formattest.Config{
		Codec:    codec,
		Reorders: true, ZeroCopy: true,
		Files: foreignFiles(),
		Exempt: map[string]string{
			"BitFlips": noSums, "CoveredData": noSums, "CheckTouch": noSums,
		},
		Samples: []formattest.Sample{
			{Name: "several", Plan: several},
			{Name: "long", Plan: long},
			{Name: "listed", Plan: listed},
			{Name: "empty", Plan: &format.Plan{}},
			{Name: "metadata", Plan: &format.Plan{Metadata: several.Metadata}},
		},
	})
}
