package mobile

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// Tensor is one tensor of a model. All methods may be called from any thread.
// What describes the tensor stays readable after the model was closed; calls for its data
// fail with CodeClosed. A Model returns tensors; one that the app makes itself is empty.
//
// Two objects are the same tensor of the same model when their Keys are equal: the
// generated Java classes compare only Key in equals and hashCode.
type Tensor struct {
	// Key identifies the tensor and its model. Do not set it.
	Key string

	model *Model // nil in an empty tensor
	view  tensor.View
}

var noModel Model

// owner returns the tensor's model. An empty tensor has an empty one.
func (t *Tensor) owner() *Model { return cmp.Or(t.model, &noModel) }

// Name returns the tensor's name, as Model.TensorName does.
func (t *Tensor) Name() string { return t.owner().names.of(t.view.Name()) }

// DType returns the element type: "float64", "float32", "float16",
// "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
// "uint8", "bool" or "complex64".
func (t *Tensor) DType() string { return t.view.DType().String() }

// ShapeRank returns the number of dims, 0 for a scalar.
func (t *Tensor) ShapeRank() int64 { return int64(len(t.view.Shape())) }

// ShapeAt returns a dim, outermost first. It is -1 for an axis that does not exist.
func (t *Tensor) ShapeAt(axis int64) int64 {
	shape := t.view.Shape()
	if axis < 0 || axis >= int64(len(shape)) {
		return -1
	}
	return shape[axis]
}

// Len returns the number of elements: the product of the dims.
func (t *Tensor) Len() int64 { return t.view.Elems() }

// ByteSize returns the number of bytes of all elements.
func (t *Tensor) ByteSize() int64 { return t.view.Info().Size }

// FileOffset returns where the data begins in the file (external data: in the
// external file), counted from the offset that OpenDescriptor was given, or -1
// when the file holds it compressed or encrypted.
func (t *Tensor) FileOffset() int64 { return t.view.Info().Offset }

// ZeroCopy reports whether Address points into the file's own memory. When it
// does not (compressed or misaligned data), Address makes a copy first.
func (t *Tensor) ZeroCopy() bool { return t.view.ZeroCopy() }

// Compression returns the name of the compression, "gzip" for example. It is empty for
// plain bytes.
func (t *Tensor) Compression() string { return t.view.Info().Compression }

// CopyTo copies the elements, row-major and little-endian, to dst, which must
// have room for ByteSize bytes, and returns their number.
//
// In Objective-C dst must be an NSMutableData; an NSData remains unchanged. In Swift use
// Bytes.
func (t *Tensor) CopyTo(dst []byte) (int64, error) {
	n, err := t.view.ReadInto(dst)
	return int64(n), err
}

// CopyRangeTo copies a part of the tensor: it fills dst with the bytes from offset on,
// fewer at the end of the tensor, and returns their number. dst is as in CopyTo.
func (t *Tensor) CopyRangeTo(dst []byte, offset int64) (int64, error) {
	if offset < 0 || offset > t.ByteSize() {
		return 0, t.fail(fmt.Errorf("%w: byte %d of %d", errIndex, offset, t.ByteSize()))
	}
	n, err := t.view.ReadAt(dst, offset)
	if err == io.EOF {
		err = nil
	}
	return int64(n), err
}

// Bytes returns a copy of the elements, row-major and little-endian.
func (t *Tensor) Bytes() ([]byte, error) {
	if err := t.copies(t.ByteSize(), 1); err != nil {
		return nil, err
	}
	v, err := t.view.Clone()
	if err != nil {
		return nil, err
	}
	return v.Bytes()
}

// Float32At returns one element, in row-major order from 0, as a real number:
// converted from any dtype but complex64, and dequantized when the tensor is
// quantized. For many elements CopyFloat32To is much faster.
func (t *Tensor) Float32At(index int64) (float32, error) {
	if index < 0 || index >= t.Len() {
		return 0, t.fail(fmt.Errorf("%w: element %d of %d", errIndex, index, t.Len()))
	}
	var value [1]float32
	err := tensor.DecodeAt(value[:], t.view, index)
	return value[0], err
}

// CopyFloat32To copies all elements as real numbers, converted as by Float32At:
// row-major, four bytes each, little-endian. dst is as in CopyTo and must have room
// for 4*Len bytes, whose number is returned.
func (t *Tensor) CopyFloat32To(dst []byte) (int64, error) {
	if room := int64(len(dst) / 4); room < t.Len() {
		return 0, t.fail(fmt.Errorf("%w: room for %d float32 values of %d", format.ErrShape, room, t.Len()))
	}
	if info := t.view.Info(); info.DType == tensor.Float32 && info.Quant == nil {
		return t.CopyTo(dst)
	}
	values, err := t.Float32Bytes()
	return int64(copy(dst, values)), err
}

// Float32Bytes returns the bytes that CopyFloat32To copies.
func (t *Tensor) Float32Bytes() ([]byte, error) {
	if err := t.copies(t.Len(), 4); err != nil {
		return nil, err
	}
	values, err := tensor.Decode[float32](nil, t.view)
	if err != nil {
		return nil, err
	}
	out := memory.BytesOf(values)
	vector.Copy(out, out, 4) // swaps on a big-endian host
	return out, nil
}

// copies refuses a copy of n elements that is larger than MaxMemory or than an array in
// Java.
func (t *Tensor) copies(n, size int64) error {
	if most := min(t.owner().limit, math.MaxInt32); n > most/size {
		return t.fail(fmt.Errorf("%w: a copy of %d elements takes more than %d bytes", format.ErrLimit, n, most))
	}
	return nil
}

// fail makes an error with the tensor's name. A closed model comes first, and an empty tensor has
// one.
func (t *Tensor) fail(err error) error {
	return cmp.Or(t.owner().open(), t.owner().fail(fmt.Sprintf("tensor %q", t.Name()), err))
}

// plain stands for the parameters of plain tensors.
var plain = &tensor.Quantization{Axis: tensor.PerTensor}

func (t *Tensor) quant() *tensor.Quantization {
	return cmp.Or(t.view.Info().Quant, plain)
}

// Quantized reports whether the stored elements stand for other real numbers:
// real = (stored - zero point) * scale for the scheme "linear". Float32At,
// CopyFloat32To and Float32Bytes apply it. The parameters are those of the file, unchecked;
// where they are invalid, these methods fail with CodeQuantization.
func (t *Tensor) Quantized() bool { return t.quant() != plain }

// QuantScheme returns "linear" or "logarithmic". It is empty for plain tensors.
func (t *Tensor) QuantScheme() string {
	if !t.Quantized() {
		return ""
	}
	return t.quant().Scheme.String()
}

// QuantAxis returns the axis of the channels. It is -1 when all elements share one scale,
// and for plain tensors.
func (t *Tensor) QuantAxis() int64 { return int64(t.quant().Axis) }

// QuantCount returns the number of scales: one, one for each channel, or 0 for
// plain tensors.
func (t *Tensor) QuantCount() int64 { return int64(len(t.quant().Scales)) }

// QuantScale returns the scale of a channel. It is 0 for one that does not exist.
func (t *Tensor) QuantScale(channel int64) float32 { return at(t.quant().Scales, channel) }

// QuantZeroPoint returns the zero point of a channel. It is 0 for one that does not
// exist.
func (t *Tensor) QuantZeroPoint(channel int64) int32 {
	zeros := t.quant().ZeroPoints
	if len(zeros) == 1 && channel < t.QuantCount() { // one for all channels
		channel = min(channel, 0)
	}
	return at(zeros, channel)
}

// at returns an element of a list, or the zero value if the index does not exist.
func at[T any](list []T, index int64) (x T) {
	if index < 0 || index >= int64(len(list)) {
		return x
	}
	return list[index]
}
