package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// head is a decoded Tensor message without doc string and properties. Its memory
// is reused for the next tensor.
type head struct {
	name  []byte
	dims  tensor.Shape
	dtype int32
	data  protowire.Number // rawArm, externalArm, or 0 for no data
	more  bool             // there are fields that a schema does not hold
	raw   protobuf.Field   // of raw_data
	ext   externalHead
	quant quantHead
	into  *[6]protobuf.Into // see newHead

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

// newHead returns a head that knows where the fields of a Tensor, its nested messages and a
// CompressedTensor go.
func newHead() *head {
	h := &head{}
	to := new([6]protobuf.Into)
	q := &h.quant
	to[0] = protobuf.Into{1: &h.name, (*[]int64)(&h.dims), &h.dtype, &h.raw, &to[1], &to[2]}
	to[1] = protobuf.Into{1: &h.ext.location, &h.ext.offset, &h.ext.length, &h.ext.checksum}
	to[2] = protobuf.Into{3: &to[3]}
	to[3] = protobuf.Into{&q.present, &q.kind, &q.scale, &q.zero, nil, &to[4]}
	to[4] = protobuf.Into{&q.perChannel, &q.scales, &q.zeros, &q.channel}
	to[5] = protobuf.Into{2: &h.compression, &h.packed, &h.uncompressed}
	h.into = to
	return h
}

// reset clears h for the next tensor but keeps the memory of its slices.
func (h *head) reset() {
	*h = head{
		name:  h.name[:0],
		dims:  h.dims[:0],
		into:  h.into,
		ext:   externalHead{location: h.ext.location[:0], checksum: h.ext.checksum[:0]},
		quant: quantHead{scales: h.quant.scales[:0], zeros: h.quant.zeros[:0]},
	}
}

// read merges a Tensor message into h and checks its encoding. A singular message
// that repeats is merged by reading it into the same head.
func (h *head) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	w := s.Walk(tensorMsg, msg, level)
	for w.Next() {
		switch {
		case w.Num > externalArm:
			h.more = true
		case w.Num < rawArm:
		case h.data != 0 && h.data != w.Num: // of a message before
			w.Err = protobuf.BothArms(w.At)
			continue
		default:
			h.data = w.Num
		}
		w.Store(&h.into[0])
	}
	return w.Err
}

// readCompressed reads a CompressedTensor message.
func (h *head) readCompressed(s *protobuf.Source, msg protobuf.Field, level int) error {
	h.compressed = true
	w := s.Walk(compressedMsg, msg, level)
	for w.Next() {
		h.more = h.more || w.Def == nil
		if w.Num == 1 {
			w.Err = h.read(s, w.Field, level+1)
		} else {
			w.Store(&h.into[5])
		}
	}
	return w.Err
}

// check checks dtype and dims, and that the data has the size they require. at is
// the offset for errors.
func (h *head) check(at int64) error {
	h.dt = dtypeOf(h.dtype)
	if h.dt == tensor.Invalid {
		return protobuf.InField("dtype", protobuf.Defectf(at, format.ErrUnsupported, "dtype code %d", h.dtype))
	}
	var err error
	if h.size, err = h.dims.ByteSize(h.dt); err != nil {
		return protobuf.InField("dims", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch n := h.raw.End - h.raw.Start; {
	case h.data == externalArm:
		return protobuf.InField("external_data", h.ext.check(at, h.size))
	case h.data == rawArm && n != h.size:
		return protobuf.Corruptf("raw_data", h.raw.At, "%d bytes, %v of %v takes %d", n, h.dims, h.dt, h.size)
	case h.data == 0 && h.size > 0 && !h.compressed:
		return protobuf.Corruptf("raw_data", at, "missing: %v of %v takes %d bytes", h.dims, h.dt, h.size)
	}
	return nil
}

// check checks that e is a range of size bytes of a file below the model's
// directory.
func (e *externalHead) check(at, size int64) error {
	_, bad := parseChecksum(e.checksum)
	switch location := external.CheckLocation(e.location); {
	case location != nil:
		return protobuf.InField("location", &protobuf.Defect{At: at, Err: location})
	case e.offset < 0 || e.offset > math.MaxInt64-max(e.length, 0):
		return protobuf.Corruptf("offset", at, "%d", e.offset)
	case e.length != size:
		return protobuf.Corruptf("length", at, "%d, the tensor takes %d bytes", e.length, size)
	case bad != nil:
		return protobuf.InField("checksum", &protobuf.Defect{At: at, Err: bad})
	}
	return nil
}

const checksumPrefix = "sha256:"

// parseChecksum parses "sha256:<hex>" or the empty string.
func parseChecksum(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if digits, ok := bytes.CutPrefix(text, []byte(checksumPrefix)); ok && len(digits) == 2*sha256.Size {
		if sum, err := hex.AppendDecode(nil, digits); err == nil {
			return sum, nil
		}
	}
	return nil, fmt.Errorf("%w: %.80q is not sha256: and 64 hexadecimal digits", tensor.ErrCorrupt, text)
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
