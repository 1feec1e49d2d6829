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

// head is what a Tensor message says, but for doc string and properties, in memory
// that is used again for the next tensor.
type head struct {
	name  []byte
	dims  []int64
	dtype int32
	arm   protowire.Number // rawArm, externalArm, or 0: no data
	raw   protobuf.Field   // of raw_data
	ext   externalHead
	quant quantHead

	size int64        // shape x dtype, set by check
	dt   tensor.DType // set by check

	// Of a CompressedTensor around it.
	compressed   bool
	compression  int32
	packed       protobuf.Field // compressed_data, start 0 when there is none
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
	h.raw.Start, h.raw.End, h.packed.Start, h.packed.End = 0, 0, 0, 0
	h.compressed, h.compression, h.uncompressed = false, 0, 0
	if h.arm == externalArm {
		h.ext = externalHead{location: h.ext.location[:0], checksum: h.ext.checksum[:0]}
	}
	if h.quant.present {
		h.quant = quantHead{scales: h.quant.scales[:0], zeros: h.quant.zeros[:0]}
	}
	h.arm = 0
}

// read merges the Tensor message at p..end into h, checking the wire rules.
// Messages that occur again merge by being read into the same head. This is EachChecked,
// written out: most of opening a model of many tensors is here.
func (h *head) read(s *protobuf.Source, p, end int64, level int) error {
	if level > protobuf.MaxLevels {
		return protobuf.TooDeep(p)
	}
	start := p
	var f protobuf.Field
	for p < end {
		err := s.Next(&f, p, end)
		if err == nil && !s.Checked {
			_, err = s.Admit(tensorMsg, &f)
		}
		if err == nil {
			err = h.field(s, &f, level)
		}
		if err != nil {
			return s.InMessage(tensorMsg, start, &f, err)
		}
		p = f.End
	}
	return nil
}

// field takes a field, if it is one that counts.
func (h *head) field(s *protobuf.Source, f *protobuf.Field, level int) (err error) {
	switch f.Num {
	case 1:
		err = s.CopyTo(&h.name, f)
	case 2:
		h.dims, err = protobuf.AppendDims(s, h.dims, f)
	case 3:
		h.dtype = int32(f.Val)
	case rawArm:
		h.raw = *f
		fallthrough
	case externalArm:
		if h.arm != 0 && h.arm != f.Num {
			return protobuf.BothArms(f.At)
		}
		if h.arm = f.Num; f.Num == externalArm {
			err = h.ext.read(s, f, level+1)
		}
	case 6:
		err = h.quant.read(s, f, level+1)
	}
	return err
}

// read merges an ExternalData message.
func (e *externalHead) read(s *protobuf.Source, msg *protobuf.Field, level int) error {
	if err := s.Hold(externalMsg, msg, level); err != nil {
		return err
	}
	return s.Each(externalMsg, *msg, func(f protobuf.Field) (err error) {
		switch f.Num {
		case 1:
			err = s.CopyTo(&e.location, &f)
		case 2:
			e.offset = int64(f.Val)
		case 3:
			e.length = int64(f.Val)
		case 4:
			err = s.CopyTo(&e.checksum, &f)
		}
		return err
	})
}

// read checks a TensorMetadata message and merges its quantization.
func (q *quantHead) read(s *protobuf.Source, msg *protobuf.Field, level int) error {
	if err := s.Hold(tensorMetaMsg, msg, level); err != nil {
		return err
	}
	return s.Each(tensorMetaMsg, *msg, func(f protobuf.Field) error {
		if f.Num != 3 {
			return nil
		}
		q.present = true
		return s.Each(quantMsg, f, func(f protobuf.Field) error {
			switch f.Num {
			case 1:
				q.kind = int32(f.Val)
			case 2:
				q.scale = math.Float32frombits(uint32(f.Val))
			case 3:
				q.zero = int32(f.Val)
			case 5:
				return q.readChannels(s, f)
			}
			return nil
		})
	})
}

// readChannels merges a PerChannelQuantization message that was checked.
func (q *quantHead) readChannels(s *protobuf.Source, msg protobuf.Field) error {
	q.perChannel = true
	return s.Each(perChannelMsg, msg, func(f protobuf.Field) (err error) {
		switch f.Num {
		case 1:
			q.scales, err = protobuf.AppendFloats(s, q.scales, &f)
		case 2:
			q.zeros, err = protobuf.AppendInt32s(s, q.zeros, &f)
		case 3:
			q.channel = int32(f.Val)
		}
		return err
	})
}

// readCompressed reads a CompressedTensor message.
func (h *head) readCompressed(s *protobuf.Source, msg protobuf.Field, level int) error {
	h.compressed = true
	return s.EachChecked(compressedMsg, msg, func(f protobuf.Field) error {
		switch f.Num {
		case 1:
			return h.read(s, f.Start, f.End, level+1)
		case 2:
			h.compression = int32(f.Val)
		case 3:
			h.packed = f
		case 4:
			h.uncompressed = int64(f.Val)
		}
		return nil
	})
}

// check checks what depends on several fields: dtype, dims, and that data, if
// there is any, has the right size. at is the offset for errors.
func (h *head) check(at int64) error {
	h.dt = dtypeOf(h.dtype)
	if h.dt == tensor.Invalid {
		return protobuf.InField("dtype", protobuf.Defectf(at, format.ErrUnsupported, "dtype code %d", h.dtype))
	}
	var err error
	if h.size, err = tensor.Shape(h.dims).ByteSize(h.dt); err != nil {
		return protobuf.InField("dims", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch h.arm {
	case rawArm:
		if n := h.raw.End - h.raw.Start; n != h.size {
			return protobuf.InField("raw_data", protobuf.Defectf(h.raw.At, tensor.ErrCorrupt, "%d bytes, %v of %v takes %d", n, tensor.Shape(h.dims), h.dt, h.size))
		}
	case externalArm:
		return protobuf.InField("external_data", h.ext.check(at, h.size))
	}
	return nil
}

// check refuses what cannot be a range of a file below the model's directory.
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
