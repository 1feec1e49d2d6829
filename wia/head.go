package wia

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// head is what a Tensor message says, but for doc string and properties. Its
// slices alias the payload or are reused for the next tensor.
type head struct {
	name  []byte
	dims  []int64
	dtype int32
	arm   protowire.Number // rawArm, externalArm, or 0: no data
	raw   field            // of raw_data
	ext   externalHead
	quant quantHead

	size int64        // shape x dtype, set by settle
	dt   tensor.DType // set by settle

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
	*h = head{dims: h.dims[:0], quant: quantHead{scales: h.quant.scales[:0], zeros: h.quant.zeros[:0]}}
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
		if err == nil {
			var d *fieldDef
			if d, err = s.admit(tensorMsg, &f); d != nil && err == nil {
				err = s.tensorField(h, &f, level)
			}
		}
		if err != nil {
			return s.place(tensorMsg, start, &f, err)
		}
		p = f.end
	}
	return nil
}

// tensorField takes one known field.
func (s *source) tensorField(h *head, f *field, level int) (err error) {
	switch f.num {
	case 1:
		h.name, err = s.bytes(f.start, f.end)
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

// appendInts reads a repeated integer, packed or not, up to a number of most.
func appendInts(s *source, out []int64, f *field, most int) ([]int64, error) {
	if f.typ == protowire.VarintType {
		out = append(out, int64(f.val))
	}
	for p := f.start; f.typ == protowire.BytesType && p < f.end && len(out) <= most; {
		v, next, err := s.varint(p, f.end)
		if err != nil {
			return out, err
		}
		out, p = append(out, int64(v)), next
	}
	if len(out) > most {
		return out, flawed(f.at, tensor.ErrLimit, "more than %d", most)
	}
	return out, nil
}

// external merges an ExternalData message.
func (s *source) external(e *externalHead, f *field, level int) error {
	if err := s.check(externalMsg, f.start, f.end, level); err != nil {
		return err
	}
	var g field
	for p := f.start; p < f.end; {
		err := s.next(&g, p, f.end)
		if err != nil {
			return err
		}
		switch g.num {
		case 1:
			e.location, err = s.bytes(g.start, g.end)
		case 2:
			e.offset = int64(g.val)
		case 3:
			e.length = int64(g.val)
		case 4:
			e.checksum, err = s.bytes(g.start, g.end)
		}
		if err != nil {
			return err
		}
		p = g.end
	}
	return nil
}

// tensorMeta checks a TensorMetadata message and merges its quantisation.
func (s *source) tensorMeta(q *quantHead, f *field, level int) error {
	if err := s.check(tensorMetaMsg, f.start, f.end, level); err != nil {
		return err
	}
	var g field
	for p := f.start; p < f.end; {
		err := s.next(&g, p, f.end)
		if err == nil && g.num == 3 {
			err = s.quantization(q, &g)
		}
		if err != nil {
			return err
		}
		p = g.end
	}
	return nil
}

// quantization merges a QuantizationParams message that was checked.
func (s *source) quantization(q *quantHead, f *field) error {
	q.present = true
	var g field
	for p := f.start; p < f.end; {
		err := s.next(&g, p, f.end)
		if err != nil {
			return err
		}
		switch g.num {
		case 1:
			q.kind = int32(g.val)
		case 2:
			q.scale = math.Float32frombits(uint32(g.val))
		case 3:
			q.zero = int32(g.val)
		case 5:
			err = s.perChannel(q, &g)
		}
		if err != nil {
			return err
		}
		p = g.end
	}
	return nil
}

// perChannel merges a PerChannelQuantization message that was checked.
func (s *source) perChannel(q *quantHead, f *field) error {
	q.perChannel = true
	var g field
	for p := f.start; p < f.end; {
		err := s.next(&g, p, f.end)
		if err != nil {
			return err
		}
		switch g.num {
		case 1:
			q.scales, err = appendFloats(s, q.scales, &g)
		case 2:
			q.zeros, err = appendInt32s(s, q.zeros, &g)
		case 3:
			q.channel = int32(g.val)
		}
		if err != nil {
			return err
		}
		p = g.end
	}
	return nil
}

// appendFloats reads a repeated float, packed or not.
func appendFloats(s *source, out []float32, f *field) ([]float32, error) {
	if f.typ == protowire.Fixed32Type {
		return append(out, math.Float32frombits(uint32(f.val))), nil
	}
	b, err := s.bytes(f.start, f.end)
	for ; err == nil && len(b) >= 4; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		out = append(out, math.Float32frombits(v))
	}
	return out, err
}

// appendInt32s reads a repeated int32; what lies beyond is cut off, as
// everywhere in protobuf.
func appendInt32s(s *source, out []int32, f *field) ([]int32, error) {
	if f.typ == protowire.VarintType {
		return append(out, int32(f.val)), nil
	}
	for p := f.start; p < f.end; {
		v, next, err := s.varint(p, f.end)
		if err != nil {
			return out, err
		}
		out, p = append(out, int32(v)), next
	}
	return out, nil
}

// compressedTensor reads a CompressedTensor message.
func (s *source) compressedTensor(h *head, p, end int64, level int) error {
	h.compressed = true
	start := p
	var f field
	for p < end {
		err := s.next(&f, p, end)
		if err == nil {
			var d *fieldDef
			if d, err = s.admit(compressedMsg, &f); d != nil && err == nil {
				switch f.num {
				case 1:
					err = s.tensor(h, f.start, f.end, level+1)
				case 2:
					h.compression = int32(f.val)
				case 3:
					h.packed = f
				case 4:
					h.uncompressed = int64(f.val)
				}
			}
		}
		if err != nil {
			return s.place(compressedMsg, start, &f, err)
		}
		p = f.end
	}
	return nil
}

// settle checks what depends on several fields: dtype, dims, and that data, if
// there are any, have the right size. at is the offset for errors.
func (h *head) settle(at int64) error {
	h.dt = dtypeOf(h.dtype)
	if h.dt == tensor.Invalid {
		return under("dtype", flawed(at, format.ErrUnsupported, "dtype code %d", h.dtype))
	}
	var err error
	if h.size, err = tensor.Shape(h.dims).ByteSize(h.dt); err != nil {
		return under("dims", &defect{at: at, err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	switch h.arm {
	case rawArm:
		if n := h.raw.end - h.raw.start; n != h.size {
			return under("raw_data", flawed(h.raw.at, tensor.ErrCorrupt, "%d bytes, %v of %v takes %d", n, tensor.Shape(h.dims), h.dt, h.size))
		}
	case externalArm:
		return under("external_data", h.ext.check(at, h.size))
	}
	return nil
}

// check refuses what cannot be a range of a file below the model's directory.
func (e *externalHead) check(at, size int64) error {
	if err := checkLocation(e.location); err != nil {
		return under("location", &defect{at: at, err: err})
	}
	if e.offset < 0 || e.offset > math.MaxInt64-max(e.length, 0) {
		return under("offset", flawed(at, tensor.ErrCorrupt, "%d", e.offset))
	}
	if e.length != size {
		return under("length", flawed(at, tensor.ErrCorrupt, "%d, the tensor takes %d bytes", e.length, size))
	}
	if err := checkChecksum(e.checksum); err != nil {
		return under("checksum", &defect{at: at, err: err})
	}
	return nil
}

const checksumPrefix = "sha256:"

// checkChecksum refuses what is neither absent nor "sha256:<hex>".
func checkChecksum(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	digits, ok := bytes.CutPrefix(text, []byte(checksumPrefix))
	ok = ok && len(digits) == 2*sha256.Size
	for _, c := range digits {
		ok = ok && (c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f')
	}
	if !ok {
		return fmt.Errorf("%w: %.80q is not sha256: and 64 hexadecimal digits", tensor.ErrCorrupt, text)
	}
	return nil
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

// unsound is a scheme that nothing dequantises by.
const unsound tensor.Scheme = 255

// quantised reports whether the tensor has a quantisation at all.
func (q *quantHead) quantised() bool { return q.present && q.kind != quantNone }
