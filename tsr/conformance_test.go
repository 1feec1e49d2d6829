package tsr

import (
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// TestConformance runs the conformance kit. A flipped dtype code that turns FP32 into
// INT32, or back, goes unnoticed because the sizes are the same: those samples exclude
// the dtype field.
func TestConformance(t *testing.T) {
	header := func([]byte) []formattest.Range { return []formattest.Range{{From: 0, To: headerSize}} }
	butType := func([]byte) []formattest.Range {
		return []formattest.Range{{From: 0, To: 16}, {From: 20, To: headerSize}}
	}
	const noSums = "the format has no checksums"
	formattest.Run(t, formattest.Config{
		Format: Format{},
		Samples: []formattest.Sample{
			{Name: "float32", Schema: sampleSchema(tensor.Float32, tensor.Shape{2, 3, 4, 5}), Structural: butType},
			{Name: "int8", Schema: sampleSchema(tensor.Int8, tensor.Shape{2, 3, 5, 7}), Structural: header},
			{Name: "int32", Schema: sampleSchema(tensor.Int32, tensor.Shape{2, 1, 1, 5}), Structural: butType},
			{Name: "scalar", Schema: sampleSchema(tensor.Float32, tensor.Shape{}), Structural: nil},
			{Name: "empty", Schema: sampleSchema(tensor.Int8, tensor.Shape{2, 0}), Structural: nil},
		},
		Exempt: map[string]string{
			"Overlap":     "a file has one tensor",
			"CoveredData": noSums,
		},
		NamesFromPath: true,
		ZeroCopy:      true,
		MaxAllocs:     18,
		Align:         headerSize,
		Scale: func(_ int, elems int64) *schema.Schema {
			return sampleSchema(tensor.Float32, tensor.Shape{elems})
		},
	})
}

// FuzzOpen opens, verifies and decodes its input.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	formattest.Fuzz(f, formattest.Config{Format: Format{}})
}
