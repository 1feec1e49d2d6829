package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// head is a decoded Tensor message without doc string and properties. Its memory
// is reused for the next tensor.
type head struct {
	name  []byte
	dims  tensor.Shape
	code  int32     // dtype
	data  int       // rawData, externalData, or 0 for no data
	more  bool      // there are fields that a schema does not hold
	raw   valueHead // raw_data
	ext   externalHead
	quant quantHead

	size  int64        // in bytes, set by check
	dtype tensor.DType // of code, set by check

	// The fields of an enclosing CompressedTensor.
	compressed   bool
	compression  int32
	packed       valueHead // compressed_data
	uncompressed int64
}

// valueHead locates data.
type valueHead struct {
	tag  int64 // offset of the field in its message
	span       // of the data in the payload; off is 0 if there is none
}

type externalHead struct {
	location, checksum []byte
	offset, length     int64
}

type quantHead struct {
	present    bool
	kind       int32
	scale      float32
	zero       int32
	perChannel bool
	scales     []float32
	zeros      []int32
	channel    int32
}

// reset clears h for the next tensor but keeps the memory of its slices.
func (h *head) reset() {
	old := *h
	*h = head{name: old.name[:0], dims: old.dims[:0]}
	h.ext.location = old.ext.location[:0]
	h.ext.checksum = old.ext.checksum[:0]
	h.quant.scales = old.quant.scales[:0]
	h.quant.zeros = old.quant.zeros[:0]
}

// read merges a Tensor message into h. A singular message that repeats is merged by reading it into
// the same head. The place of raw_data is that in the outermost message; the reader of the tensor
// block knows it otherwise.
func (h *head) read(m messages.Message) error {
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case tensorName:
			h.name = append(h.name[:0], f.Text()...)
		case tensorDims:
			h.dims = messages.AppendInts(h.dims, &f)
		case tensorDType:
			h.code = f.Enum()
		case rawData, externalData:
			if h.data != 0 && h.data != f.Number { // of a message before
				return messages.BothSet(f.At())
			}
			h.data = f.Number
			if f.Number == rawData {
				h.raw = valueHead{f.At(), span{f.ValueAt(), int64(len(f.Text()))}}
			} else {
				h.ext.read(f.Message())
			}
		case tensorMetadata:
			h.more = true
			h.readMetadata(f.Message())
		default:
			h.more = true
		}
	}
	return nil
}

// read merges an ExternalData message into e.
func (e *externalHead) read(m messages.Message) {
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case externalLocation:
			e.location = append(e.location[:0], f.Text()...)
		case externalOffset:
			e.offset = f.Int()
		case externalLength:
			e.length = f.Int()
		case externalChecksum:
			e.checksum = append(e.checksum[:0], f.Text()...)
		}
	}
}

// readMetadata merges the quantization of a TensorMetadata message into h.
func (h *head) readMetadata(m messages.Message) {
	for f := m.Cursor(); f.Next(); {
		if f.Number == metadataQuantization {
			h.quant.read(f.Message())
		}
	}
}

// read merges a QuantizationParams message into q.
func (q *quantHead) read(m messages.Message) {
	q.present = true
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case quantType:
			q.kind = f.Enum()
		case quantScale:
			q.scale = f.Float()
		case quantZeroPoint:
			q.zero = f.Enum()
		case quantPerChannel:
			q.readPerChannel(f.Message())
		}
	}
}

// readPerChannel merges a PerChannelQuantization message into q.
func (q *quantHead) readPerChannel(m messages.Message) {
	q.perChannel = true
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case channelScales:
			q.scales = messages.AppendFloats(q.scales, &f)
		case channelZeroPoints:
			q.zeros = messages.AppendInts(q.zeros, &f)
		case channelDim:
			q.channel = f.Enum()
		}
	}
}

// readCompressed reads a CompressedTensor message.
func (h *head) readCompressed(m messages.Message) error {
	h.compressed = true
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case innerTensor:
			err := h.read(f.Message())
			if err != nil {
				return err
			}
		case compressionCode:
			h.compression = f.Enum()
		case compressedData:
		case uncompressedSize:
			h.uncompressed = f.Int()
		default:
			h.more = true
		}
	}
	return nil
}

// badField returns an error about a field of the tensor, which may be missing.
func badField(field, text string, args ...any) error {
	return messages.Errorf(messages.OfMessage, field, tensor.ErrCorrupt, text, args...)
}

// wrongField is badField for an error that exists.
func wrongField(field string, err error) error {
	return &messages.Error{At: messages.OfMessage, Field: field, Err: err}
}

// check checks dtype and dims, and that the data has the size they require.
func (h *head) check() error {
	h.dtype = dtypeOf(h.code)
	if h.dtype == tensor.Invalid {
		return messages.Errorf(messages.OfMessage, "dtype", format.ErrUnsupported,
			"dtype code %d", h.code)
	}
	var err error
	h.size, err = h.dims.ByteSize(h.dtype)
	if err != nil {
		return wrongField("dims", fmt.Errorf("%w: %w", tensor.ErrCorrupt, err))
	}
	n := h.raw.size
	switch {
	case h.data == externalData:
		return h.ext.check(h.size)
	case h.data == rawData && n != h.size:
		return messages.Errorf(h.raw.tag, "", tensor.ErrCorrupt,
			"%d bytes, %v of %v takes %d", n, h.dims, h.dtype, h.size)
	case h.data == 0 && h.size > 0 && !h.compressed:
		return badField("raw_data", "missing: %v of %v takes %d bytes", h.dims, h.dtype, h.size)
	}
	return nil
}

// check checks that e is a range of size bytes of a file below the model's
// directory.
func (e *externalHead) check(size int64) error {
	err := external.CheckLocation(e.location)
	if err != nil {
		return wrongField("external_data.location", err)
	}
	if e.offset < 0 || e.offset > math.MaxInt64-max(e.length, 0) {
		return badField("external_data.offset", "%d", e.offset)
	}
	if e.length != size {
		return badField("external_data.length", "%d, the tensor takes %d bytes", e.length, size)
	}
	_, err = parseChecksum(e.checksum)
	if err != nil {
		return wrongField("external_data.checksum", err)
	}
	return nil
}

const checksumPrefix = "sha256:"

// parseChecksum parses "sha256:<hex>" or the empty string.
func parseChecksum(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	digits, isSHA256 := bytes.CutPrefix(text, []byte(checksumPrefix))
	if !isSHA256 || len(digits) != 2*sha256.Size {
		return nil, badChecksum(text)
	}
	sum, err := hex.AppendDecode(nil, digits)
	if err != nil {
		return nil, badChecksum(text)
	}
	return sum, nil
}

func badChecksum(text []byte) error {
	return fmt.Errorf("%w: %.80q is not sha256: and 64 hexadecimal digits", tensor.ErrCorrupt, text)
}

// quantization returns the parameters as a tensor.Quantization, nil for none.
// Invalid parameters get a form that makes dequantizing fail.
func (q *quantHead) quantization() *tensor.Quantization {
	if !q.present || q.kind == 0 {
		return nil
	}
	out := &tensor.Quantization{Scheme: unsound, Axis: tensor.PerTensor}
	if q.kind > 0 && int(q.kind) < len(schemes) {
		out.Scheme = schemes[q.kind]
	}
	if !q.perChannel {
		out.Scales = []float32{q.scale}
		out.ZeroPoints = []int32{q.zero}
		return out
	}
	out.Scales = append([]float32{}, q.scales...)
	out.Axis = int(q.channel)
	out.ZeroPoints = append(out.ZeroPoints, q.zeros...)
	if q.channel < 0 {
		out.Axis-- // -1 would mean PerTensor
	}
	if len(q.zeros) == 1 && len(q.scales) != 1 {
		out.Scheme = unsound // in WIA, one zero point cannot apply to several scales
	}
	return out
}

// schemes has the schemes by QuantizationType; 0 is NONE.
var schemes = [...]tensor.Scheme{unsound, tensor.Linear, tensor.Logarithmic}

// unsound is a scheme that cannot be dequantized.
const unsound tensor.Scheme = 255
