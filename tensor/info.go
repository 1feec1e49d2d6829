package tensor

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Info describes one tensor of a model. Readers fill all fields; in a write
// plan Name, DType, Shape and Quant count.
type Info struct {
	Name  string
	DType DType
	Shape Shape
	// Offset is where the data begins in the file (for external data: in the
	// external file), -1 when it is stored in another form.
	Offset int64
	// Size is the number of bytes of the tensor itself: shape times dtype.
	Size int64
	// Stored is the number of bytes the tensor takes in the file. It differs
	// from Size for compressed data, and is -1 for a tensor that was
	// compressed together with others.
	Stored int64
	// Compression names how the bytes are stored: "" (as they are), "gzip",
	// "zstd", "lz4", "brotli", "deflate", "int8", "float16".
	Compression string
	// Quant holds the quantization parameters, nil for plain tensors.
	Quant *Quantization
	// Encoding describes elements that are not of a DType, which is Invalid then; nil
	// for all others.
	Encoding *Encoding
}

// TypeName returns the name of the element type: that of the DType, or of the
// Encoding.
func (i *Info) TypeName() string {
	if i.Encoding != nil {
		return i.Encoding.Name
	}
	return i.DType.String()
}

// ByteSize returns how many bytes a tensor of this shape and type has.
func (i *Info) ByteSize() (int64, error) {
	if i.Encoding != nil {
		return i.Encoding.Bytes(i.Shape)
	}
	return i.Shape.ByteSize(i.DType)
}

// Scheme says how a quantized integer q stands for a real number.
type Scheme uint8

// The two schemes that formats know, with q' = q - zero point.
const (
	Linear      Scheme = iota // real = q' * scale
	Logarithmic               // real = sign(q') * (exp2(|q'| * scale) - 1)
)

// String returns "linear" or "logarithmic".
func (s Scheme) String() string {
	if s == Logarithmic {
		return "logarithmic"
	}
	return "linear"
}

// PerTensor is the Axis of a quantization with one scale.
const PerTensor = -1

// Quantization maps stored integers to real numbers. The values may come from
// a file as they are: Dequantize checks them and answers ErrQuantization.
type Quantization struct {
	Scheme Scheme
	// Scales has one value, or one for each channel along Axis.
	Scales []float32
	// ZeroPoints is empty (all are 0), has one value for all scales, or as many
	// values as Scales.
	ZeroPoints []int32
	// Axis is the dimension that has the channels, PerTensor for one scale.
	Axis int
}

// Clone returns a copy, nil of nil.
func (q *Quantization) Clone() *Quantization {
	if q == nil {
		return nil
	}
	c := *q
	c.Scales, c.ZeroPoints = slices.Clone(q.Scales), slices.Clone(q.ZeroPoints)
	return &c
}

// Equal reports whether both stand for the same real numbers by the same
// parameters, bit for bit: missing zero points are 0, and one serves all scales.
// Nil equals nil alone.
func (q *Quantization) Equal(o *Quantization) bool {
	if q == nil || o == nil {
		return q == o
	}
	if q.Scheme != o.Scheme || q.Axis != o.Axis || len(q.Scales) != len(o.Scales) {
		return false
	}
	for i := range q.Scales {
		if math.Float32bits(q.Scales[i]) != math.Float32bits(o.Scales[i]) {
			return false
		}
	}
	if slices.Equal(q.ZeroPoints, o.ZeroPoints) {
		return true
	}
	if !q.servesAll() || !o.servesAll() {
		return false
	}
	for i := range q.Scales {
		if q.zeroPoint(i) != o.zeroPoint(i) {
			return false
		}
	}
	return true
}

// servesAll reports whether there is a zero point for every scale.
func (q *Quantization) servesAll() bool {
	return len(q.ZeroPoints) <= 1 || len(q.ZeroPoints) == len(q.Scales)
}

// CheckName reports why name cannot be a tensor's name: names are valid UTF-8
// without NUL and not empty.
func CheckName(name string) error {
	switch {
	case name == "":
		return errEmptyName
	case strings.IndexByte(name, 0) >= 0:
		return errNULName
	case !utf8.ValidString(name):
		return errUTF8Name
	}
	return nil
}
