package mobi

import (
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Constants of the layout; see the package documentation.
const (
	formatName = "mobi"
	extension  = ".mobi"

	magicNumber = 0x4D4F4249 // as in the specification: 49 42 4F 4D in the file
	magicASCII  = 0x49424F4D // "MOBI" in the file, as some writers have it
	version     = 1

	headerSize = 32
	footerSize = 4

	checksumSize = 4

	specMin     = 4 + 1 + 2 + 2 // a spec of rank 0 with a name of one byte
	recordMin   = 16            // a constant of rank 0 without data
	operatorMin = 8             // an operator without inputs, outputs and parameters
	paramMin    = 2 + 1 + 1 + 1 // a bool with a name of one byte

	gzipFlag = 0x8000 // in a constant's data type: the data is a gzip member

	referenceHeader = 30 // size of the header of the reference writer

	alignment   = 64 // of the first constant's data in files of the writer
	maxFileSize = 1<<32 - 1
)

// Header is the header of a file, its first 32 bytes. Offsets and sizes are in
// bytes.
type Header struct {
	Magic          uint32 // "MOBI"
	Version        uint16 // of the format
	Checksum       uint32 // 0: not recorded
	Flags          Flags  // what the model has
	FileSize       uint32 // including the footer
	MetadataOffset uint32 // of the metadata in the file
	TensorOffset   uint32 // of the constants
	GraphOffset    uint32 // of the graph
}

// graphEnd returns the offset of the end of the operator graph, where the footer
// begins.
func (h *Header) graphEnd() int64 { return int64(h.FileSize) - footerSize }

// Dynamic is the value of a Spec's dim that is known only at run time.
const Dynamic uint64 = math.MaxUint64

// Spec describes an input or an output of the model. Type may be an unknown code,
// and Dims may have any values: their product is not checked.
type Spec struct {
	Name string   // of the input or output
	Type DataType // of its elements
	Dims []uint64 // outermost first; Dynamic if not fixed
}

// Operator is a node of the graph. The ids refer to constants, to outputs of other
// operators, and to inputs of the model; undefined ids are legal.
type Operator struct {
	Type    OpType   // what it computes
	Inputs  []uint32 // ids
	Outputs []uint32 // ids
	Params  []Param  // names are unique
}

// Param returns the value of the parameter with the given name. It reports false if
// there is none.
func (o *Operator) Param(name string) (any, bool) {
	for _, p := range o.Params {
		if p.Name == name {
			return p.Value, true
		}
	}
	return nil, false
}

// Param is a named parameter of an operator. Its value is an int32, int64, float32,
// float64, bool, []int32 or []float32, or, beyond the specification, a string or
// []int64.
type Param struct {
	Name  string // such as "stride_h"
	Value any    // of one of the types above
}

// Flags is the bit mask in the header. Other bits are preserved and ignored.
type Flags uint32

// The flags of the specification. They are informative: readers use the dtypes.
const (
	FlagQuantized Flags = 1 << 0 // constants are quantized
	FlagFloat16   Flags = 1 << 1 // constants are float16
	FlagOptimized Flags = 1 << 2 // operators were fused

	flagsKnown = FlagQuantized | FlagFloat16 | FlagOptimized
)

// DataType is a dtype code of MOBI.
type DataType uint16

// The data types of constants. Specs may have any code.
const (
	Float32 DataType = 0
	Float16 DataType = 1
	Int8    DataType = 2
	Int16   DataType = 3
	Int32   DataType = 4
)

// unknownType is the data type of a spec whose dtype is unknown or has no code.
const unknownType DataType = 0xFFFF

// dtypes are the element types, by their code.
var dtypes = [...]tensor.DType{
	Float32: tensor.Float32,
	Float16: tensor.Float16,
	Int8:    tensor.Int8,
	Int16:   tensor.Int16,
	Int32:   tensor.Int32,
}

// DType returns the element type, tensor.Invalid for an unknown code.
func (d DataType) DType() tensor.DType {
	if int(d) < len(dtypes) {
		return dtypes[d]
	}
	return tensor.Invalid
}

// String returns the name of the element type, or an unknown code in decimal.
func (d DataType) String() string {
	t := d.DType()
	if t.Valid() {
		return t.String()
	}
	return strconv.Itoa(int(d))
}

// TypeOf returns the code of an element type. It reports false if MOBI has none.
func TypeOf(d tensor.DType) (code DataType, ok bool) {
	i := slices.Index(dtypes[:], d)
	return DataType(max(i, 0)), i >= 0
}

// OpType is an operator code of MOBI. Codes without a name are preserved.
type OpType uint16

// The operators of the specification, in its order.
const (
	Conv2D OpType = iota
	DepthwiseConv2D
	FullyConnected
	MaxPool2D
	AvgPool2D
	BatchNorm
	Relu
	Sigmoid
	Tanh
	Softmax
	Add
	Subtract
	Multiply
	Divide
	Concat
	Reshape
	Flatten
	Transpose
	MatMul
)

var opNames = [...]string{
	Conv2D:          "Conv2D",
	DepthwiseConv2D: "DepthwiseConv2D",
	FullyConnected:  "FullyConnected",
	MaxPool2D:       "MaxPool2D",
	AvgPool2D:       "AvgPool2D",
	BatchNorm:       "BatchNorm",
	Relu:            "Relu",
	Sigmoid:         "Sigmoid",
	Tanh:            "Tanh",
	Softmax:         "Softmax",
	Add:             "Add",
	Subtract:        "Subtract",
	Multiply:        "Multiply",
	Divide:          "Divide",
	Concat:          "Concat",
	Reshape:         "Reshape",
	Flatten:         "Flatten",
	Transpose:       "Transpose",
	MatMul:          "MatMul",
}

// Known reports whether the specification has the operator.
func (o OpType) Known() bool { return int(o) < len(opNames) }

// String returns the name of the operator, or an unknown code in decimal.
func (o OpType) String() string {
	if o.Known() {
		return opNames[o]
	}
	return strconv.Itoa(int(o))
}

// ParseOpType parses the result of String. It reports false for any other string.
func ParseOpType(s string) (o OpType, ok bool) {
	i := slices.Index(opNames[:], s)
	if i >= 0 {
		return OpType(i), true
	}
	code, ok := parseDecimal(s, 16)
	return OpType(code), ok
}

// Footer is the kind of checksum at the end of a file, which covers all bytes
// before it.
type Footer uint8

// The two kinds of footer. Readers accept both.
const (
	Adler32 Footer = iota // as in the specification's notes and the reference code
	CRC32                 // as in the specification's layout table
)

// kinds maps a Footer to its driver.Kind.
var kinds = [...]driver.Kind{Adler32: driver.Adler32, CRC32: driver.CRC32}

// parseDecimal parses a decimal number without sign and leading zeros.
func parseDecimal(s string, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, false
	}
	return n, s[0] != '0' || s == "0"
}

// constantName returns the tensor name of a constant.
func constantName(id uint32) string { return strconv.FormatUint(uint64(id), 10) }
