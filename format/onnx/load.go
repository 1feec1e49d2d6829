package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Load implements driver.Parsed for typed data, which is not in the file as such, and
// for sparse tensors, which are handed out in wire form.
func (f *parsed) Load(i int) ([]byte, error) {
	size := f.index.Size(i)
	if err := wire.CheckSize(size); err != nil {
		return nil, err
	}
	out := whole{memory.Aligned(int(size))[:0]}
	err := f.Stream(i, &out)
	return out.b, err
}

// whole collects what is written, which fits.
type whole struct{ b []byte }

func (w *whole) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// Stream implements driver.Parsed.
func (f *parsed) Stream(i int, w io.Writer) error {
	r := &f.records[i]
	if r.sparse {
		_, err := w.Write(f.structure.Win[r.at:r.end])
		return err
	}
	b, err := f.src.Slice(r.at, r.end-r.at)
	if err != nil {
		return err
	}
	h, raw, err := headOf(b)
	if err == nil && (h.list == 0 || h.size != f.index.Size(i)) {
		err = protobuf.Defectf(0, tensor.ErrCorrupt, "the file changed since it was opened")
	}
	if err == nil {
		err = h.typed(raw, w)
	}
	if d, ok := err.(*protobuf.Defect); ok {
		return wire.Error(formatName, fmt.Sprintf("tensor %q", f.index.Name(i)), r.at+d.At, fmt.Errorf("%s: %w", d.Path, d.Err))
	}
	return err
}

// headOf reads the message of a tensor.
func headOf(raw []byte) (*head, *protobuf.Source, error) {
	h, s := &head{}, protobuf.InMemory(raw)
	h.reset()
	err := h.read(s, s.All(), 3)
	if err == nil {
		err = h.check(0)
	}
	return h, s, err
}

// bytes returns the data of a tensor whose message is in s: little-endian, or the fields
// themselves. Data that is stored as such is not copied.
func (h *head) bytes(s *protobuf.Source) ([]byte, error) {
	switch {
	case h.list != 0:
		if err := wire.CheckSize(h.size); err != nil {
			return nil, err
		}
		out := whole{memory.Aligned(int(h.size))[:0]}
		err := h.typed(s, &out)
		return out.b, err
	case !h.hasRaw || h.size == 0:
		return []byte{}, nil
	}
	return s.Bytes(h.raw.Start, h.raw.End)
}

// typed writes typed data. What the message says may have changed since it was
// checked: the size of the result does not.
func (h *head) typed(s *protobuf.Source, w io.Writer) error {
	t := typedData{h: h, s: s, w: w, left: h.size, width: h.size / max(1, h.values), piece: make([]byte, 0, min(h.size, typedStep)+8)}
	f := s.Walk(tensorMsg, h.message, 1)
	for f.Next() {
		switch packed := f.Typ == protowire.BytesType; {
		case int(f.Num) != h.list:
		case h.inFields():
			f.Err = t.bytes(f.At, f.End)
		case packed && (f.Num == floatData || f.Num == doubleData):
			f.Err = t.bytes(f.Start, f.End)
		case packed:
			f.Err = t.varints(&f.Field)
		default:
			f.Err = t.value(&f.Field, f.Val)
		}
	}
	if f.Err != nil {
		return f.Err
	}
	if err := t.flush(); err != nil {
		return err
	}
	if t.left != 0 {
		return protobuf.Defectf(0, tensor.ErrCorrupt, "fewer values than there were")
	}
	return nil
}

const typedStep = 64 << 10

// typedData writes the values of a list with as many bytes as its elements have.
type typedData struct {
	h     *head
	s     *protobuf.Source
	w     io.Writer
	left  int64 // bytes that are still to be written
	width int64 // of a value
	piece []byte
}

func (t *typedData) write(b []byte) error {
	if t.left -= int64(len(b)); t.left < 0 {
		return protobuf.Defectf(0, tensor.ErrCorrupt, "more values than there were")
	}
	_, err := t.w.Write(b)
	return err
}

func (t *typedData) flush() error {
	b := t.piece
	t.piece = b[:0]
	return t.write(b)
}

// bytes writes bytes that are stored as they are wanted.
func (t *typedData) bytes(from, to int64) error {
	if err := t.flush(); err != nil {
		return err
	}
	b, err := t.s.Bytes(from, to)
	if err == nil {
		err = t.write(b)
	}
	return err
}

func (t *typedData) varints(f *protobuf.Field) error {
	for p := f.Start; p < f.End; {
		v, next, err := t.s.Varint(p, f.End)
		if err == nil {
			err = t.value(f, v)
		}
		if err != nil {
			return err
		}
		p = next
	}
	return nil
}

func (t *typedData) value(f *protobuf.Field, v uint64) error {
	if !t.fits(v) {
		return protobuf.Defectf(f.At, tensor.ErrCorrupt, "%d does not fit in %d bytes", int64(v), t.width)
	}
	if t.piece = appendValue(t.piece, v, t.width); len(t.piece) >= typedStep {
		return t.flush()
	}
	return nil
}

// fits reports whether a value, with or without a sign, has room in the bytes of an element.
func (t *typedData) fits(v uint64) bool {
	switch x := int64(int32(v)); {
	case t.h.list == uint64Data && t.width == 4:
		return v <= math.MaxUint32
	case t.h.list == int32Data && t.width == 1:
		return x >= math.MinInt8 && x <= math.MaxUint8
	case t.h.list == int32Data && t.width == 2:
		return x >= math.MinInt16 && x <= math.MaxUint16
	}
	return true
}

// appendValue appends the low bytes of a value.
func appendValue(b []byte, v uint64, width int64) []byte {
	switch width {
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}
