package tensor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Info describes a tensor of a model. Readers fill all fields; writers use Name, DType,
// Shape, Quant and Encoding.
type Info struct {
	Name  string // as in the file
	DType DType  // of the elements; Invalid with an Encoding
	Shape Shape  // empty for a scalar
	// File is the index in Model.Files of the file that holds the data: a shard, a file of external
	// data, or the model's own, 0.
	File int
	// Offset is where the data begins in that file. It is -1 if the data is stored in another form.
	Offset int64
	// Size is the size of the uncompressed elements in bytes.
	Size int64
	// Stored is the number of bytes the tensor takes in the file. It differs
	// from Size for compressed data, and is -1 for a tensor that is
	// compressed together with others.
	Stored int64
	// Compression is "gzip", "zstd", "lz4", "brotli", "deflate", "int8" or "float16", or ""
	// for bytes stored as they are.
	Compression string
	// Quant holds the quantization parameters. It is nil for other tensors.
	Quant *Quantization
	// Encoding describes elements without a DType, which is Invalid then. It is nil for other
	// tensors.
	Encoding *Encoding
}

// TypeName returns the name of the element type: the Encoding's, if there is one, or else the
// DType's.
func (i Info) TypeName() string {
	if i.Encoding != nil {
		return i.Encoding.Name
	}
	return i.DType.String()
}

// ByteSize returns the size in bytes of a tensor of this shape and type.
func (i Info) ByteSize() (int64, error) {
	if i.Encoding != nil {
		return i.Encoding.Bytes(i.Shape)
	}
	return i.Shape.ByteSize(i.DType)
}

// Scheme is the mapping from a quantized integer q to a real number.
type Scheme uint8

// The schemes, with q' = q - zero point.
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

// PerTensor is the Axis of a Quantization with one scale for the whole tensor.
const PerTensor = -1

// Quantization maps stored integers to real numbers. Readers do not check the values they
// take from a file; Dequantize does, and returns ErrQuantization.
type Quantization struct {
	// Scheme is how the integers stand for numbers.
	Scheme Scheme
	// Scales has one value, or one value for each channel along Axis.
	Scales []float32
	// ZeroPoints is empty (all are 0), has one value for all scales, or one value for each
	// scale.
	ZeroPoints []int32
	// Axis is the axis of the channels, or PerTensor if there is one scale.
	Axis int
}

// Clone returns a copy of q, or nil if q is nil.
func (q *Quantization) Clone() *Quantization {
	if q == nil {
		return nil
	}
	c := *q
	c.Scales = slices.Clone(q.Scales)
	c.ZeroPoints = slices.Clone(q.ZeroPoints)
	return &c
}

// Equal reports whether q and o have the same parameters, bit for bit. Missing zero points
// equal 0, and one zero point equals as many as there are scales. Nil equals only nil.
func (q *Quantization) Equal(o *Quantization) bool {
	if q == nil || o == nil {
		return q == o
	}
	sameBits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	if q.Scheme != o.Scheme || q.Axis != o.Axis || !slices.EqualFunc(q.Scales, o.Scales, sameBits) {
		return false
	}
	for i := range max(len(q.Scales), len(q.ZeroPoints), len(o.ZeroPoints)) {
		if q.zeroPoint(i) != o.zeroPoint(i) {
			return false
		}
	}
	return true
}

// CheckName returns an error if name cannot be a tensor's name. A name must be valid UTF-8,
// not empty, and without NUL bytes.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: empty name", ErrCorrupt)
	case strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("%w: name contains a NUL byte", ErrCorrupt)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: name is not valid UTF-8", ErrCorrupt)
	}
	return nil
}
