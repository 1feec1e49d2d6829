package onnx

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

const (
	formatName = "onnx"
	alignment  = 64        // of the data that the writer puts into the file
	pageAlign  = 4096      // of larger tensors in a file of external data
	maxModel   = 1<<31 - 1 // bytes that other readers take
	maxRank    = 1 << 16
)

var extensions = []string{".onnx"}

// elemType is an element type of TensorProto.DataType.
type elemType struct {
	name  string
	bits  int64        // of one element; 0 for strings
	list  int          // the field of typed data
	dtype tensor.DType // Invalid for those of enc
	enc   *tensor.Encoding
}

const stringCode = 8

// elemTypes is indexed by code; 0 is UNDEFINED.
var elemTypes = [...]elemType{
	1:          {name: "FLOAT", bits: 32, list: floatData, dtype: tensor.Float32},
	2:          {name: "UINT8", bits: 8, list: int32Data, dtype: tensor.Uint8},
	3:          {name: "INT8", bits: 8, list: int32Data, dtype: tensor.Int8},
	4:          {name: "UINT16", bits: 16, list: int32Data, dtype: tensor.Uint16},
	5:          {name: "INT16", bits: 16, list: int32Data, dtype: tensor.Int16},
	6:          {name: "INT32", bits: 32, list: int32Data, dtype: tensor.Int32},
	7:          {name: "INT64", bits: 64, list: int64Data, dtype: tensor.Int64},
	stringCode: {name: "STRING", list: stringData},
	9:          {name: "BOOL", bits: 8, list: int32Data, dtype: tensor.Bool},
	10:         {name: "FLOAT16", bits: 16, list: int32Data, dtype: tensor.Float16},
	11:         {name: "DOUBLE", bits: 64, list: doubleData, dtype: tensor.Float64},
	12:         {name: "UINT32", bits: 32, list: uint64Data, dtype: tensor.Uint32},
	13:         {name: "UINT64", bits: 64, list: uint64Data, dtype: tensor.Uint64},
	14:         {name: "COMPLEX64", bits: 64, list: floatData, dtype: tensor.Complex64},
	15:         {name: "COMPLEX128", bits: 128, list: doubleData},
	16:         {name: "BFLOAT16", bits: 16, list: int32Data, dtype: tensor.BFloat16},
	17:         {name: "FLOAT8E4M3FN", bits: 8, list: int32Data, dtype: tensor.Float8E4M3FN},
	18:         {name: "FLOAT8E4M3FNUZ", bits: 8, list: int32Data},
	19:         {name: "FLOAT8E5M2", bits: 8, list: int32Data, dtype: tensor.Float8E5M2},
	20:         {name: "FLOAT8E5M2FNUZ", bits: 8, list: int32Data},
	21:         {name: "UINT4", bits: 4, list: int32Data},
	22:         {name: "INT4", bits: 4, list: int32Data},
	23:         {name: "FLOAT4E2M1", bits: 4, list: int32Data},
	24:         {name: "FLOAT8E8M0", bits: 8, list: int32Data},
	25:         {name: "UINT2", bits: 2, list: int32Data},
	26:         {name: "INT2", bits: 2, list: int32Data},
}

func init() {
	for i := range elemTypes {
		e := &elemTypes[i]
		if e.name == "" || e.dtype != tensor.Invalid {
			continue
		}
		if e.enc = lowbit.Encoding(e.name); e.enc == nil {
			e.enc = &tensor.Encoding{Name: e.name}
			if e.bits > 0 {
				e.enc.BlockElems = 1
				e.enc.BlockBytes = e.bits / 8
			}
		}
	}
}

var undefined = &elemTypes[0]

// typeOf returns undefined for codes that are not in the table.
func typeOf(code int32) *elemType {
	if code < 0 || int(code) >= len(elemTypes) {
		return undefined
	}
	return &elemTypes[code]
}

// dtypeOf returns Invalid for codes without a DType.
func dtypeOf(code int32) tensor.DType { return typeOf(code).dtype }

// codeOf returns 0 for dtypes that ONNX lacks.
func codeOf(d tensor.DType) int32 { return codeOfTensor(&tensor.Info{DType: d}) }

// codeOfTensor is codeOf for a tensor, including listed types.
func codeOfTensor(t *tensor.Info) int32 {
	for code := range elemTypes {
		if elemTypes[code].holds(t) {
			return int32(code)
		}
	}
	return 0
}

// holds reports whether the elements of a tensor have the type.
func (e *elemType) holds(t *tensor.Info) bool {
	if t.Encoding == nil {
		return e.dtype == t.DType && t.DType != tensor.Invalid
	}
	if e.enc == nil || e.bits == 0 {
		return false
	}
	return lowbit.Type(e.name) == lowbit.Type(t.Encoding.Name)
}

// storage describes how a file stores a tensor.
type storage struct {
	code   int32
	fields bool // its bytes are fields of the TensorProto: strings, and lists of unknown types
	sparse bool // its bytes are a SparseTensorProto, and there is no code
}

// storageOf is codeOfTensor for a tensor of an ONNX file, of any type.
func storageOf(t *tensor.Info) storage {
	known := codeOfTensor(t)
	if known != 0 || t.Encoding == nil {
		return storage{code: known}
	}
	name, list, typed := strings.Cut(t.Encoding.Name, listedIn)
	switch {
	case name == elemTypes[stringCode].name:
		return storage{code: stringCode, fields: true}
	case strings.HasPrefix(name, sparsePrefix):
		return storage{sparse: true}
	}
	number, unknown := strings.CutPrefix(name, unknownPrefix)
	code, err := strconv.ParseInt(number, 10, 32)
	if !unknown || err != nil {
		return storage{}
	}
	return storage{code: int32(code), fields: typed && list != ""}
}

// bytes returns the size of n elements.
func (e *elemType) bytes(n int64) int64 { return n/8*e.bits + (n%8*e.bits+7)/8 }

// values returns the number of values of the typed list for n elements.
func (e *elemType) values(n int64) int64 {
	switch {
	case e.bits > 0 && e.bits < 8:
		return e.bytes(n) // several elements share a byte, which is one value
	case e.name == "COMPLEX64" || e.name == "COMPLEX128":
		return 2 * n
	}
	return n
}

// The names of encodings that are not in the table.
const (
	unknownPrefix = "type "
	listedIn      = " in " // the field of typed data
	sparsePrefix  = "SPARSE "
)

// typeName returns the name of a type, which may not be in the table.
func typeName(code int32) string {
	return cmp.Or(typeOf(code).name, unknownPrefix+strconv.Itoa(int(code)))
}
