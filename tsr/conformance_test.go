package tsr

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/formattest"
	"github.com/weightmap/weightmap/tensor"
)

// TestConformance runs the kit. Where FP32 and INT32 share sizes, nothing in a
// file tells the two apart: those samples leave the dtype out of what must be noticed.
func TestConformance(t *testing.T) {
	header := func([]byte) []formattest.Range { return []formattest.Range{{From: 0, To: headerSize}} }
	butType := func([]byte) []formattest.Range {
		return []formattest.Range{{From: 0, To: offDType}, {From: offRank, To: headerSize}}
	}
	formattest.Run(t, formattest.Config{
		Codec: &codec,
		Samples: []formattest.Sample{
			{Name: "float32", Plan: plan(tensor.Float32, tensor.Shape{2, 3, 4, 5}), Structural: butType},
			{Name: "int8", Plan: plan(tensor.Int8, tensor.Shape{2, 3, 5, 7}), Structural: header},
			{Name: "int32", Plan: plan(tensor.Int32, tensor.Shape{2, 1, 1, 5}), Structural: butType},
			{Name: "scalar", Plan: plan(tensor.Float32, tensor.Shape{}), Structural: nil},
			{Name: "empty", Plan: plan(tensor.Int8, tensor.Shape{2, 0}), Structural: nil},
		},
		NamesFromPath: true,
		ZeroCopy:      true,
		Align:         headerSize,
		Scale: func(_ int, elems int64) *format.Plan {
			return plan(tensor.Float32, tensor.Shape{elems})
		},
	})
}
