package gguf

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName   = "gguf"
	extension    = ".gguf"
	magic        = "GGUF"
	writeVersion = 3

	headerSize = 24 // magic, version, two counts
	minEntry   = 13 // an empty key, a type, one byte
	minTensor  = 24 // an empty name, no dims
	minString  = 8  // an empty one
	minArray   = 12 // an empty one

	defaultAlign = 32
	minAlign     = 8
	maxRank      = 4
	maxDepth     = 8  // of arrays in arrays
	usualName    = 64 // bytes of a tensor's name that every reader takes
	maxKey       = 1<<16 - 1
)

// Keys that say something about the file itself.
const (
	keyAlignment    = "general.alignment"
	keyQuantVersion = "general.quantization_version"
)

// valueType is the type of a metadata value.
type valueType uint32

const (
	typeUint8 valueType = iota
	typeInt8
	typeUint16
	typeInt16
	typeUint32
	typeInt32
	typeFloat32
	typeBool
	typeString
	typeArray
	typeUint64
	typeInt64
	typeFloat64
	numValueTypes
)

// valueSizes are the bytes of a value; of strings and arrays the least.
var valueSizes = [numValueTypes]uint64{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

// elementType is a type of tensor elements: a dtype, or an encoding.
type elementType struct {
	name     string // in ggml_type
	dtype    tensor.DType
	encoding *tensor.Encoding
}

// elementTypes are the types that are known, by their code. Block sizes are
// those of the reference implementation.
var elementTypes = [...]elementType{
	0:  {name: "F32", dtype: tensor.Float32},
	1:  {name: "F16", dtype: tensor.Float16},
	2:  blocks("Q4_0", 32, 18, decodeQ4_0),
	3:  blocks("Q4_1", 32, 20, decodeQ4_1),
	4:  unsized("Q4_2"), // removed before the format had versions
	5:  unsized("Q4_3"),
	6:  blocks("Q5_0", 32, 22, decodeQ5_0),
	7:  blocks("Q5_1", 32, 24, decodeQ5_1),
	8:  blocks("Q8_0", 32, 34, decodeQ8_0),
	9:  blocks("Q8_1", 32, 36, nil),
	10: blocks("Q2_K", 256, 84, groupsQ2K.Decode),
	11: blocks("Q3_K", 256, 110, groupsQ3K.Decode),
	12: blocks("Q4_K", 256, 144, groupsQ4K.Decode),
	13: blocks("Q5_K", 256, 176, groupsQ5K.Decode),
	14: blocks("Q6_K", 256, 210, groupsQ6K.Decode),
	15: blocks("Q8_K", 256, 292, nil),
	16: eachBlock("IQ2_XXS", 256, 66, decodeIQ2XXS),
	17: eachBlock("IQ2_XS", 256, 74, decodeIQ2XS),
	18: eachBlock("IQ3_XXS", 256, 98, decodeIQ3XXS),
	19: eachBlock("IQ1_S", 256, 50, decodeIQ1S),
	20: blocks("IQ4_NL", 32, 18, decodeIQ4NL),
	21: eachBlock("IQ3_S", 256, 110, decodeIQ3S),
	22: eachBlock("IQ2_S", 256, 82, decodeIQ2S),
	23: blocks("IQ4_XS", 256, 136, decodeIQ4XS),
	24: {name: "I8", dtype: tensor.Int8},
	25: {name: "I16", dtype: tensor.Int16},
	26: {name: "I32", dtype: tensor.Int32},
	27: {name: "I64", dtype: tensor.Int64},
	28: {name: "F64", dtype: tensor.Float64},
	29: eachBlock("IQ1_M", 256, 56, decodeIQ1M),
	30: {name: "BF16", dtype: tensor.BFloat16},
	31: blocks("Q4_0_4_4", 32, 18, nil),
	32: blocks("Q4_0_4_8", 32, 18, nil),
	33: blocks("Q4_0_8_8", 32, 18, nil),
	34: eachBlock("TQ1_0", 256, 54, decodeTQ1_0),
	35: blocks("TQ2_0", 256, 66, groupsTQ2_0.Decode),
	36: blocks("IQ4_NL_4_4", 32, 18, nil),
	37: blocks("IQ4_NL_4_8", 32, 18, nil),
	38: blocks("IQ4_NL_8_8", 32, 18, nil),
	39: blocks("MXFP4", 32, 17, decodeMXFP4),
	40: eachBlock("NVFP4", 64, 36, decodeNVFP4),
	41: eachBlock("Q1_0", 128, 18, decodeQ1_0),
	42: eachBlock("Q2_0", 64, 18, decodeQ2_0),
}

const codeQ8_0 = 8

// unsized is a type whose block size is not known: no other format has it.
func unsized(name string) elementType {
	return elementType{name: name, encoding: &tensor.Encoding{Name: name, Format: formatName}}
}

// typeOf returns the type with a code. Codes without a meaning here are types, too.
func typeOf(code uint32) elementType {
	if code < uint32(len(elementTypes)) {
		return elementTypes[code]
	}
	return unsized(unknownPrefix + strconv.FormatUint(uint64(code), 10))
}

const unknownPrefix = "type "

// sized reports whether the size of a tensor follows from its shape.
func (e elementType) sized() bool { return e.encoding == nil || e.encoding.BlockBytes > 0 }

// bytes returns the size of a tensor; of one that is not sized, how many elements it has.
func (e elementType) bytes(s tensor.Shape) (int64, error) {
	if !e.sized() {
		return s.Elems()
	}
	return (&tensor.Info{DType: e.dtype, Encoding: e.encoding, Shape: s}).ByteSize()
}

// isOf reports whether e is the type of a tensor's elements.
func (e elementType) isOf(t *tensor.Info) bool {
	a := e.encoding
	b := t.Encoding
	if a == nil || b == nil {
		return a == b && e.dtype == t.DType
	}
	return a.Name == b.Name && a.Format == b.Format && a.BlockElems == b.BlockElems &&
		a.BlockBytes == b.BlockBytes
}

// codeOf returns the code of a tensor's elements; ok is false for what the format has no code for.
// Those of unknown size have as many bytes as there are up to the next tensor.
func codeOf(t *tensor.Info) (code uint32, ok bool) {
	i := slices.IndexFunc(elementTypes[:], func(e elementType) bool { return e.isOf(t) })
	code = uint32(max(0, i))
	number, unknown := strings.CutPrefix(t.TypeName(), unknownPrefix)
	if unknown {
		n, _ := strconv.ParseUint(number, 10, 32)
		code = uint32(n)
	}
	e := typeOf(code)
	if !e.isOf(t) {
		return code, false
	}
	if e.sized() {
		return code, true
	}
	elems, err := t.Shape.Elems()
	if err != nil {
		return code, false
	}
	return code, (elems == 0) == (t.Size == 0)
}
