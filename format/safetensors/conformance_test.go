package safetensors

import (
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// odd is a valid file that this package's writer does not produce: its header is not padded and in another order than
// the data, which is misaligned and has types that are listed.
var odd = fileOf(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[5,9]},"a":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[0,3]},"c":{"dtype":"Q9","shape":[3],"data_offsets":[3,5]},"__metadata__":{"k":"v"}}`, count(9)...)

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
	several := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: known, Tensors: 4})
	several.Metadata = schema.Metadata{{Key: "format", Value: "pt"}, {Key: "", Value: "\"é\x00"}}
	long := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: known, MinRank: 1, Tensors: 3, Name: formattest.LongName})
	listed := &schema.Schema{Tensors: []tensor.Info{
		{Name: "four", Shape: tensor.Shape{3, 2}, Encoding: &tensor.Encoding{Name: "F4", BlockElems: 2, BlockBytes: 1}},
		{Name: "six", Shape: tensor.Shape{4}, Encoding: &tensor.Encoding{Name: "F6_E3M2", BlockElems: 4, BlockBytes: 3}},
		{Name: "scale", Shape: tensor.Shape{5}, Encoding: &tensor.Encoding{Name: "F8_E8M0", BlockElems: 1, BlockBytes: 1}},
	}}
	const noSums = "the format has no sums"
	formattest.Run(t, formattest.Config{
		Format:   Format{},
		Reorders: true, ZeroCopy: true,
		Files: []formattest.File{{Name: "foreign", Bytes: odd}},
		Exempt: map[string]string{
			"BitFlips": noSums, "CoveredData": noSums,
		},
		Samples: []formattest.Sample{
			{Name: "several", Schema: several},
			{Name: "long", Schema: long},
			{Name: "listed", Schema: listed},
			{Name: "empty", Schema: &schema.Schema{}},
			{Name: "metadata", Schema: &schema.Schema{Metadata: several.Metadata}},
		},
	})
}

// FuzzOpen opens, verifies and decodes any input.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	formattest.Fuzz(f, formattest.Config{Format: Format{}})
}
