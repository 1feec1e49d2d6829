package tsr

import (
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName = "tsr"
	extension  = ".tsr"
	magic      = "TSR!"
	version    = 1
	headerSize = 64
	maxRank    = 4
)

// The element types, indexed by code-1, and their names in the specification.
var (
	dtypes    = []tensor.DType{tensor.Float32, tensor.Int8, tensor.Int32}
	typeNames = [...]string{"FP32", "INT8", "INT32"}
)

// TypeName returns the specification's name of a dtype: "FP32", "INT8" or
// "INT32", and "" for a dtype that TSR does not have.
func TypeName(d tensor.DType) string {
	code := codeOf(d)
	if code > 0 {
		return typeNames[code-1]
	}
	return ""
}

// codeOf returns the code of a dtype, 0 if TSR does not have it.
func codeOf(d tensor.DType) int32 { return int32(slices.Index(dtypes, d) + 1) }
