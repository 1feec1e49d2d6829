package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/onnxgraph"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// head is a decoded Tensor message without doc string and properties. Its memory
// is reused for the next tensor.
type head struct {
	name  []byte
	dims  []int64
	dtype int32
	data  protowire.Number // rawArm, externalArm, or 0 for no data
	more  bool             // there are fields other than planFields
	raw   protobuf.Field   // of raw_data
	ext   externalHead
	quant quantHead

	size int64        // in bytes, set by check
	dt   tensor.DType // set by check

	// The fields of an enclosing CompressedTensor.
	compressed   bool
	compression  int32
	packed       protobuf.Field // compressed_data; Start is 0 if it is missing
	uncompressed int64
}

// The arms of Tensor's oneof.
const (
	rawArm      protowire.Number = 4
	externalArm protowire.Number = 5
)

type externalHead struct {
	location, checksum []byte
	offset, length     int64
	sum                checksum // set by check
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
	h.name, h.dims, h.dtype = h.name[:0], h.dims[:0], 0
	h.raw.Start, h.raw.End, h.packed.Start, h.packed.End = 0, 0, 0, 0
	h.compressed, h.compression, h.uncompressed = false, 0, 0
	if h.data == externalArm {
		h.ext = externalHead{location: h.ext.location[:0], checksum: h.ext.checksum[:0]}
	}
	if h.quant.present {
		h.quant = quantHead{scales: h.quant.scales[:0], zeros: h.quant.zeros[:0]}
	}
	h.data, h.more = 0, false
}

// read merges a Tensor message into h and checks its encoding. A singular message
// that repeats is merged by reading it into the same head.
func (h *head) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	w := s.Walk(tensorMsg, msg, level)
	for w.Next() {
		h.more = h.more || planFields&(1<<w.Num) == 0
		switch w.Num {
		case 1:
			w.Err = s.CopyTo(&h.name, &w.Field)
		case 2:
			h.dims, w.Err = protobuf.AppendInts(s, h.dims, &w.Field, protobuf.MaxDims)
		case 3:
			h.dtype = int32(w.Val)
		case rawArm:
			h.arm(&w)
			h.raw = w.Field
		case externalArm:
			if h.arm(&w); w.Err == nil {
				w.Err = h.ext.read(s, w.Field, level+1)
			}
		case 6:
			w.Err = h.quant.readMetadata(s, w.Field, level+1)
		}
	}
	return w.Err
}

// arm records which field has the data. It also detects both arms across merged
// messages.
func (h *head) arm(w *protobuf.Walk) {
	if h.data != 0 && h.data != w.Num {
		w.Err = protobuf.BothArms(w.At)
	}
	h.data = w.Num
}

// read merges an ExternalData message.
func (e *externalHead) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	w := s.Walk(externalMsg, msg, level)
	for w.Next() {
		switch w.Num {
		case 1:
			w.Err = s.CopyTo(&e.location, &w.Field)
		case 2:
			e.offset = int64(w.Val)
		case 3:
			e.length = int64(w.Val)
		case 4:
			w.Err = s.CopyTo(&e.checksum, &w.Field)
		}
	}
	return w.Err
}

// readMetadata merges the quantization of a TensorMetadata message.
func (q *quantHead) readMetadata(s *protobuf.Source, msg protobuf.Field, level int) error {
	w := s.Walk(tensorMetaMsg, msg, level)
	for w.Next() {
		if w.Num == 3 {
			w.Err = q.read(s, w.Field, level+1)
		} else {
			w.Check()
		}
	}
	return w.Err
}

// read merges a QuantizationParams message.
func (q *quantHead) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	q.present = true
	w := s.Walk(quantMsg, msg, level)
	for w.Next() {
		switch w.Num {
		case 1:
			q.kind = int32(w.Val)
		case 2:
			q.scale = math.Float32frombits(uint32(w.Val))
		case 3:
			q.zero = int32(w.Val)
		case 5:
			w.Err = q.readChannels(s, w.Field, level+1)
		}
	}
	return w.Err
}

// readChannels merges a PerChannelQuantization message.
func (q *quantHead) readChannels(s *protobuf.Source, msg protobuf.Field, level int) error {
	q.perChannel = true
	w := s.Walk(perChannelMsg, msg, level)
	for w.Next() {
		switch w.Num {
		case 1:
			q.scales, w.Err = protobuf.AppendFloats(s, q.scales, &w.Field)
		case 2:
			q.zeros, w.Err = protobuf.AppendInts(s, q.zeros, &w.Field, math.MaxInt)
		case 3:
			q.channel = int32(w.Val)
		}
	}
	return w.Err
}

// readCompressed reads a CompressedTensor message.
func (h *head) readCompressed(s *protobuf.Source, msg protobuf.Field, level int) error {
	h.compressed = true
	w := s.Walk(compressedMsg, msg, level)
	for w.Next() {
		switch w.Num {
		case 1:
			w.Err = h.read(s, w.Field, level+1)
		case 2:
			h.compression = int32(w.Val)
		case 3:
			h.packed = w.Field
		case 4:
			h.uncompressed = int64(w.Val)
		}
	}
	return w.Err
}

// check checks dtype and dims, and that the data, if any, has the size they
// require. at is the offset for errors.
func (h *head) check(at int64) error {
	h.dt = dtypeOf(h.dtype)
	if h.dt == tensor.Invalid {
		return protobuf.InField("dtype", protobuf.Defectf(at, format.ErrUnsupported, "dtype code %d", h.dtype))
	}
	var err error
	if h.size, err = tensor.Shape(h.dims).ByteSize(h.dt); err != nil {
		return protobuf.InField("dims", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch h.data {
	case rawArm:
		if n := h.raw.End - h.raw.Start; n != h.size {
			return protobuf.InField("raw_data", protobuf.Defectf(h.raw.At, tensor.ErrCorrupt, "%d bytes, %v of %v takes %d", n, tensor.Shape(h.dims), h.dt, h.size))
		}
	case externalArm:
		return protobuf.InField("external_data", h.ext.check(at, h.size))
	}
	return nil
}

// check checks that e is a range of size bytes of a file below the model's
// directory.
func (e *externalHead) check(at, size int64) error {
	if err := external.CheckLocation(e.location); err != nil {
		return protobuf.InField("location", &protobuf.Defect{At: at, Err: err})
	}
	if e.offset < 0 || e.offset > math.MaxInt64-max(e.length, 0) {
		return protobuf.InField("offset", protobuf.Defectf(at, tensor.ErrCorrupt, "%d", e.offset))
	}
	if e.length != size {
		return protobuf.InField("length", protobuf.Defectf(at, tensor.ErrCorrupt, "%d, the tensor takes %d bytes", e.length, size))
	}
	var err error
	if e.sum, err = parseChecksum(e.checksum); err != nil {
		return protobuf.InField("checksum", &protobuf.Defect{At: at, Err: err})
	}
	return nil
}

const checksumPrefix = "sha256:"

// parseChecksum parses "sha256:<hex>" or the empty string.
func parseChecksum(text []byte) (c checksum, err error) {
	if len(text) == 0 {
		return c, nil
	}
	digits, ok := bytes.CutPrefix(text, []byte(checksumPrefix))
	if ok = ok && len(digits) == 2*sha256.Size; ok {
		_, err = hex.Decode(c.sum[:], digits)
	}
	if c.summed = ok && err == nil; !c.summed {
		return c, fmt.Errorf("%w: %.80q is not sha256: and 64 hexadecimal digits", tensor.ErrCorrupt, text)
	}
	return c, nil
}

// quantMemory is memory for quantization parameters, of which a model may have many.
type quantMemory struct {
	quants onnxgraph.Arena[tensor.Quantization]
	scales onnxgraph.Arena[float32]
	zeros  onnxgraph.Arena[int32]
}

// quantization returns the parameters as a tensor.Quantization, nil for none.
// Invalid parameters get a form that makes dequantizing fail.
func (q *quantHead) quantization(m *quantMemory) *tensor.Quantization {
	if !q.present || q.kind == quantNone {
		return nil
	}
	out := &append(m.quants.Take(1), tensor.Quantization{Scheme: unsound, Axis: tensor.PerTensor})[0]
	switch q.kind {
	case quantLinear:
		out.Scheme = tensor.Linear
	case quantLogarithmic:
		out.Scheme = tensor.Logarithmic
	}
	if !q.perChannel {
		out.Scales, out.ZeroPoints = append(m.scales.Take(1), q.scale), append(m.zeros.Take(1), q.zero)
		return out
	}
	out.Scales, out.Axis = append(m.scales.Take(len(q.scales)), q.scales...), int(q.channel)
	if len(q.zeros) > 0 {
		out.ZeroPoints = append(m.zeros.Take(len(q.zeros)), q.zeros...)
	}
	if q.channel < 0 {
		out.Axis-- // -1 would mean PerTensor
	}
	if len(q.zeros) == 1 && len(q.scales) != 1 {
		out.Scheme = unsound // in WIA, one zero point cannot apply to several scales
	}
	return out
}

// The codes of QuantizationType.
const (
	quantNone        = 0
	quantLinear      = 1
	quantLogarithmic = 2
)

// unsound is a scheme that cannot be dequantized.
const unsound tensor.Scheme = 255
