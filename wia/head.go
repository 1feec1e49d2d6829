package wia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// head is what a Tensor message says, but for doc string and properties, in memory
// that is used again for the next tensor.
type head struct {
	name  []byte
	dims  []int64
	dtype int32
	arm   protowire.Number // rawArm, externalArm, or 0: no data
	raw   field            // of raw_data
	ext   externalHead
	quant quantHead

	size int64        // shape x dtype, set by check
	dt   tensor.DType // set by check

	// Of a CompressedTensor around it.
	compressed   bool
	compression  int32
	packed       field // compressed_data, start 0 when there is none
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
	sum                digest // set by check
}

// digest is a SHA-256 sum that may be missing.
type digest struct {
	set bool
	sum [sha256.Size]byte
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

// reset forgets the last tensor but keeps the memory of its slices.
func (h *head) reset() {
	h.name, h.dims, h.dtype = h.name[:0], h.dims[:0], 0
	h.raw.start, h.raw.end, h.packed.start, h.packed.end = 0, 0, 0, 0
	h.compressed, h.compression, h.uncompressed = false, 0, 0
	if h.arm == externalArm {
		h.ext = externalHead{location: h.ext.location[:0], checksum: h.ext.checksum[:0]}
	}
	if h.quant.present {
		h.quant = quantHead{scales: h.quant.scales[:0], zeros: h.quant.zeros[:0]}
	}
	h.arm = 0
}

// copyTo replaces out by a copy of a field's bytes, which do not change any more.
func (s *source) copyTo(out *[]byte, f *field) error {
	b, err := s.bytes(f.start, f.end)
	*out = append((*out)[:0], b...)
	return err
}

// tensor merges the Tensor message at p..end into h, checking the wire rules.
// Messages that occur again merge by being read into the same head.
func (s *source) tensor(h *head, p, end int64, level int) error {
	if level > maxLevels {
		return tooDeep(p)
	}
	start := p
	var f field
	for p < end {
		err := s.next(&f, p, end)
		if err == nil && !s.checked {
			_, err = s.admit(tensorMsg, &f)
		}
		if err == nil {
			err = s.tensorField(h, &f, level)
		}
		if err != nil {
			return s.inMessage(tensorMsg, start, &f, err)
		}
		p = f.end
	}
	return nil
}

// tensorField takes a field, if it is one that counts.
func (s *source) tensorField(h *head, f *field, level int) (err error) {
	switch f.num {
	case 1:
		err = s.copyTo(&h.name, f)
	case 2:
		h.dims, err = appendInts(s, h.dims, f, maxDims)
	case 3:
		h.dtype = int32(f.val)
	case rawArm:
		h.raw = *f
		fallthrough
	case externalArm:
		if h.arm != 0 && h.arm != f.num {
			return bothArms(f.at)
		}
		if h.arm = f.num; f.num == externalArm {
			err = s.external(&h.ext, f, level+1)
		}
	case 6:
		err = s.tensorMeta(&h.quant, f, level+1)
	}
	return err
}

// hold checks a message and keeps all of it in the window, so that what is read
// next is what was checked.
func (s *source) hold(m *message, f *field, level int) error {
	if _, err := s.bytes(f.start, f.end); err != nil {
		return err
	}
	return s.check(m, f.start, f.end, level)
}

// external merges an ExternalData message.
func (s *source) external(e *externalHead, msg *field, level int) error {
	if err := s.hold(externalMsg, msg, level); err != nil {
		return err
	}
	return s.each(externalMsg, *msg, func(f field) (err error) {
		switch f.num {
		case 1:
			err = s.copyTo(&e.location, &f)
		case 2:
			e.offset = int64(f.val)
		case 3:
			e.length = int64(f.val)
		case 4:
			err = s.copyTo(&e.checksum, &f)
		}
		return err
	})
}

// tensorMeta checks a TensorMetadata message and merges its quantization.
func (s *source) tensorMeta(q *quantHead, msg *field, level int) error {
	if err := s.hold(tensorMetaMsg, msg, level); err != nil {
		return err
	}
	return s.each(tensorMetaMsg, *msg, func(f field) error {
		if f.num != 3 {
			return nil
		}
		q.present = true
		return s.each(quantMsg, f, func(f field) error {
			switch f.num {
			case 1:
				q.kind = int32(f.val)
			case 2:
				q.scale = math.Float32frombits(uint32(f.val))
			case 3:
				q.zero = int32(f.val)
			case 5:
				return s.perChannel(q, f)
			}
			return nil
		})
	})
}

// perChannel merges a PerChannelQuantization message that was checked.
func (s *source) perChannel(q *quantHead, msg field) error {
	q.perChannel = true
	return s.each(perChannelMsg, msg, func(f field) (err error) {
		switch f.num {
		case 1:
			q.scales, err = appendFloats(s, q.scales, &f)
		case 2:
			q.zeros, err = appendInt32s(s, q.zeros, &f)
		case 3:
			q.channel = int32(f.val)
		}
		return err
	})
}

// compressedTensor reads a CompressedTensor message.
func (s *source) compressedTensor(h *head, msg field, level int) error {
	h.compressed = true
	return s.eachChecked(compressedMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return s.tensor(h, f.start, f.end, level+1)
		case 2:
			h.compression = int32(f.val)
		case 3:
			h.packed = f
		case 4:
			h.uncompressed = int64(f.val)
		}
		return nil
	})
}

// check checks what depends on several fields: dtype, dims, and that data, if
// there is any, has the right size. at is the offset for errors.
func (h *head) check(at int64) error {
	h.dt = dtypeOf(h.dtype)
	if h.dt == tensor.Invalid {
		return inField("dtype", defectf(at, format.ErrUnsupported, "dtype code %d", h.dtype))
	}
	var err error
	if h.size, err = tensor.Shape(h.dims).ByteSize(h.dt); err != nil {
		return inField("dims", &defect{at: at, err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch h.arm {
	case rawArm:
		if n := h.raw.end - h.raw.start; n != h.size {
			return inField("raw_data", defectf(h.raw.at, tensor.ErrCorrupt, "%d bytes, %v of %v takes %d", n, tensor.Shape(h.dims), h.dt, h.size))
		}
	case externalArm:
		return inField("external_data", h.ext.check(at, h.size))
	}
	return nil
}

// check refuses what cannot be a range of a file below the model's directory.
func (e *externalHead) check(at, size int64) error {
	if err := checkLocation(e.location); err != nil {
		return inField("location", &defect{at: at, err: err})
	}
	if e.offset < 0 || e.offset > math.MaxInt64-max(e.length, 0) {
		return inField("offset", defectf(at, tensor.ErrCorrupt, "%d", e.offset))
	}
	if e.length != size {
		return inField("length", defectf(at, tensor.ErrCorrupt, "%d, the tensor takes %d bytes", e.length, size))
	}
	var err error
	if e.sum, err = parseChecksum(e.checksum); err != nil {
		return inField("checksum", &defect{at: at, err: err})
	}
	return nil
}

const checksumPrefix = "sha256:"

// parseChecksum reads "sha256:<hex>", or nothing.
func parseChecksum(text []byte) (d digest, err error) {
	if len(text) == 0 {
		return d, nil
	}
	digits, ok := bytes.CutPrefix(text, []byte(checksumPrefix))
	if ok = ok && len(digits) == 2*sha256.Size; ok {
		_, err = hex.Decode(d.sum[:], digits)
	}
	if d.set = ok && err == nil; !d.set {
		return d, fmt.Errorf("%w: %.80q is not sha256: and 64 hexadecimal digits", tensor.ErrCorrupt, text)
	}
	return d, nil
}

// quantization returns the parameters in the common form, nil for none. What is
// unsound is kept so that asking for real values fails.
func (q *quantHead) quantization(out *tensor.Quantization) {
	out.Axis = tensor.PerTensor
	switch q.kind {
	case quantLinear:
		out.Scheme = tensor.Linear
	case quantLogarithmic:
		out.Scheme = tensor.Logarithmic
	default:
		out.Scheme = unsound
	}
	if !q.perChannel {
		return
	}
	out.Axis = int(q.channel)
	if q.channel < 0 {
		out.Axis-- // not to be taken for PerTensor
	}
	if n := len(q.zeros); n == 1 && len(q.scales) != 1 {
		out.Scheme = unsound // one zero point does not serve several scales here
	}
}

// The codes of QuantizationType.
const (
	quantNone        = 0
	quantLinear      = 1
	quantLogarithmic = 2
)

// unsound is a scheme that nothing dequantizes by.
const unsound tensor.Scheme = 255

// quantized reports whether the tensor has a quantization at all.
func (q *quantHead) quantized() bool { return q.present && q.kind != quantNone }
