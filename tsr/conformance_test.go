package tsr

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/tensor"
)

// conformance returns the input of the conformance kit. A flipped dtype code
// that turns FP32 into INT32, or back, goes unnoticed because the sizes are the
// same: those samples exclude the dtype field.
func conformance() formattest.Config {
	header := func([]byte) []formattest.Range { return []formattest.Range{{From: 0, To: headerSize}} }
	butType := func([]byte) []formattest.Range {
		return []formattest.Range{{From: 0, To: offDType}, {From: offRank, To: headerSize}}
	}
	const noSums = "the format has no checksums"
	changed := func(change func(*fields)) []byte {
		f := file(2, 2, [4]int32{1, 1, 2, 3}, int8s(6))
		change(&f)
		return f.bytes()
	}
	return formattest.Config{
		Codec: codec,
		Samples: []formattest.Sample{
			{Name: "float32", Plan: samplePlan(tensor.Float32, tensor.Shape{2, 3, 4, 5}), Structural: butType},
			{Name: "int8", Plan: samplePlan(tensor.Int8, tensor.Shape{2, 3, 5, 7}), Structural: header},
			{Name: "int32", Plan: samplePlan(tensor.Int32, tensor.Shape{2, 1, 1, 5}), Structural: butType},
			{Name: "scalar", Plan: samplePlan(tensor.Float32, tensor.Shape{}), Structural: nil},
			{Name: "empty", Plan: samplePlan(tensor.Int8, tensor.Shape{2, 0}), Structural: nil},
		},
		Files: []formattest.File{
			{Name: "by hand", Bytes: changed(func(*fields) {}), Plan: samplePlan(tensor.Int8, tensor.Shape{2, 3}), Data: map[string][]byte{"tensor": int8s(6)}},
			{Name: "trailing byte", Bytes: changed(func(f *fields) { f.extra = 1 }), Want: format.ErrCorrupt, Field: "data"},
			{Name: "hole before the data", Bytes: changed(func(f *fields) { f.headerSize, f.extra = 128, 64 }), Want: format.ErrCorrupt, Field: "header_size"},
			{Name: "unused dim", Bytes: changed(func(f *fields) { f.dims, f.ndim = [4]int32{1, 2, 1, 3}, 2 }), Want: format.ErrCorrupt, Field: "dims[1]"},
		},
		Exempt: map[string]string{
			"CoveredData": noSums,
			"CheckTouch":  noSums,
		},
		NamesFromPath: true,
		ZeroCopy:      true,
		MaxAllocs:     16,
		Align:         headerSize,
		Scale: func(_ int, elems int64) *format.Plan {
			return samplePlan(tensor.Float32, tensor.Shape{elems})
		},
	}
}

func TestConformance(t *testing.T) { formattest.Run(t, conformance()) }
