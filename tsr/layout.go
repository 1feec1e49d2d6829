package tsr

import (
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

const (
	name       = "tsr"
	extension  = ".tsr"
	magic      = "TSR!"
	version    = 1
	headerSize = 64
	maxRank    = 4
)

// Offsets of the header's fields that errors of several fields name.
const (
	offDType    = 16
	offRank     = 20
	offDims     = 24
	offElements = 40
)

// The element types by their codes less one, and the specification's names of them.
var (
	dtypes    = []tensor.DType{tensor.Float32, tensor.Int8, tensor.Int32}
	typeNames = [...]string{"FP32", "INT8", "INT32"}
)

// TypeName returns the specification's name of a dtype: "FP32", "INT8" or
// "INT32", and "" for what a TSR file cannot hold.
func TypeName(d tensor.DType) string {
	if code := codeOf(d); code > 0 {
		return typeNames[code-1]
	}
	return ""
}

// codeOf returns the number of a dtype, 0 for what a file cannot hold.
func codeOf(d tensor.DType) int32 { return int32(slices.Index(dtypes, d) + 1) }
