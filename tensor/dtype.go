package tensor

import (
	"slices"
	"strconv"
	"strings"
)

// DType is the type of a tensor's elements. The zero value is Invalid. The
// numeric values are not those of any file format. The Go types of
// half-precision elements are F16 and BF16.
type DType uint8

// The element types. Elements in files are little-endian.
const (
	Invalid      DType = iota
	Float64            // IEEE 754 binary64
	Float32            // IEEE 754 binary32
	Float16            // IEEE 754 binary16, in Go F16
	BFloat16           // the upper half of a binary32, in Go BF16
	Int64              // two's complement, like all signed integers
	Int32              //
	Int16              //
	Int8               //
	Uint64             //
	Uint32             //
	Uint16             //
	Uint8              //
	Bool               // one byte, zero is false
	Complex64          // two binary32: real, imaginary
	Float8E4M3FN       // 4 bits of exponent, 3 of fraction, no infinities
	Float8E5M2         // 5 bits of exponent, 2 of fraction
	numDTypes
)

// dtypes describes the dtypes.
var dtypes = [numDTypes]struct {
	name string
	size int64 // in bytes
	kind DType // of the basic Go type that holds the bits
}{
	Invalid:      {name: "invalid"},
	Complex64:    {"complex64", 8, Complex64},
	Float64:      {"float64", 8, Float64},
	Float32:      {"float32", 4, Float32},
	Float16:      {"float16", 2, Uint16},
	BFloat16:     {"bfloat16", 2, Uint16},
	Int64:        {"int64", 8, Int64},
	Int32:        {"int32", 4, Int32},
	Int16:        {"int16", 2, Int16},
	Int8:         {"int8", 1, Int8},
	Uint64:       {"uint64", 8, Uint64},
	Uint32:       {"uint32", 4, Uint32},
	Uint16:       {"uint16", 2, Uint16},
	Uint8:        {"uint8", 1, Uint8},
	Bool:         {"bool", 1, Uint8},
	Float8E4M3FN: {"float8_e4m3fn", 1, Uint8},
	Float8E5M2:   {"float8_e5m2", 1, Uint8},
}

// isInteger reports whether d is a type of integers.
func (d DType) isInteger() bool { return d >= Int64 && d <= Uint8 }

// Valid reports whether d is one of the element types.
func (d DType) Valid() bool { return d > Invalid && d < numDTypes }

// known returns d, or Invalid if d is not one of the element types.
func (d DType) known() DType {
	if d >= numDTypes {
		return Invalid
	}
	return d
}

// Size returns the size of one element in bytes, 0 for Invalid.
func (d DType) Size() int64 { return dtypes[d.known()].size }

// kind returns the dtype of the basic Go type that holds the bits of an element.
func (d DType) kind() DType { return dtypes[d.known()].kind }

// wordSize is the unit in which bytes are swapped and aligned: the element
// itself, and for complex64 one of its two halves.
func (d DType) wordSize() int {
	if d == Complex64 {
		return 4
	}
	return int(d.Size())
}

// String returns the lower-case name, "float32".
func (d DType) String() string {
	if d >= numDTypes {
		return "dtype(" + strconv.Itoa(int(d)) + ")"
	}
	return dtypes[d].name
}

// ParseDType returns the DType with the given name: as String returns it, or as other programs
// spell it, such as "bf16", "F32", "half" or "torch.float16". Case does not matter. ok is false if
// there is none.
func ParseDType(name string) (d DType, ok bool) {
	name = strings.TrimPrefix(strings.ToLower(name), "torch.")
	for d := Invalid + 1; d < numDTypes; d++ {
		if dtypes[d].name == name || slices.Contains(otherNames[d], name) {
			return d, true
		}
	}
	return Invalid, false
}

// otherNames are other names of the dtypes: those of safetensors, GGUF, PyTorch, C and their users.
var otherNames = [numDTypes][]string{
	Float64:      {"f64", "fp64", "double"},
	Float32:      {"f32", "fp32", "float", "single"},
	Float16:      {"f16", "fp16", "half"},
	BFloat16:     {"bf16", "bfloat"},
	Float8E4M3FN: {"f8_e4m3", "f8_e4m3fn", "fp8_e4m3", "fp8_e4m3fn", "float8_e4m3", "float8e4m3fn"},
	Float8E5M2:   {"f8_e5m2", "fp8_e5m2", "float8e5m2"},
	Complex64:    {"c64", "cfloat"},
	Int64:        {"i64", "long"},
	Int32:        {"i32", "int"},
	Int16:        {"i16", "short"},
	Int8:         {"i8"},
	Uint64:       {"u64"},
	Uint32:       {"u32"},
	Uint16:       {"u16"},
	Uint8:        {"u8", "byte"},
	Bool:         {"boolean"},
}
