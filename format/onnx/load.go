package onnx

import (
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"google.golang.org/protobuf/encoding/protowire"
)

// Load implements driver.Parsed for typed data, and for sparse tensors, which are returned in
// wire form.
func (f *parsed) Load(i int) ([]byte, error) {
	r := &f.records[i]
	raw, err := f.src.Slice(r.at, r.end-r.at)
	if err != nil {
		return nil, err
	}
	if r.sparse {
		return append(memory.Aligned(len(raw))[:0], raw...), nil
	}
	h, s, err := headOf(raw)
	if err == nil && (h.list == 0 || h.size != f.index.Size(i)) {
		err = protobuf.Corruptf("", 0, "the file changed since it was opened")
	}
	var data []byte
	if err == nil {
		data, err = h.bytes(s)
	}
	if d, ok := err.(*protobuf.Defect); ok {
		err = wire.Error(formatName, fmt.Sprintf("tensor %q", f.index.Name(i)), r.at+d.At, fmt.Errorf("%s: %w", d.Path, d.Err))
	}
	return data, err
}

// headOf reads the message of a tensor.
func headOf(raw []byte) (*head, *protobuf.Source, error) {
	h := newHead()
	s := protobuf.InMemory(raw)
	err := h.read(s, s.All(), 3)
	if err == nil {
		err = h.check(0)
	}
	return h, s, err
}

// bytes returns the data of a tensor whose message is in s: little-endian, or the fields
// themselves. Raw data is not copied.
func (h *head) bytes(s *protobuf.Source) ([]byte, error) {
	switch {
	case h.list != 0:
		return h.typed(s)
	case h.raw.Num == 0 || h.size == 0:
		return []byte{}, nil
	}
	return s.Bytes(h.raw.Start, h.raw.End)
}

// typed returns typed data as raw data. The message may have changed since it was checked: the
// size of the result does not.
func (h *head) typed(s *protobuf.Source) ([]byte, error) {
	if err := wire.CheckSize(h.size); err != nil {
		return nil, err
	}
	out := memory.Aligned(int(h.size))[:0]
	width := h.size / max(1, h.values)
	w := s.Walk(tensorMsg, h.message, 1)
	for w.Next() {
		switch packed := w.Typ == protowire.BytesType; {
		case int(w.Num) != h.list:
		case h.inFields():
			w.Err = s.Keep(&out, &w.Field)
		case packed && w.Num != floatData && w.Num != doubleData:
			for p, v := w.Start, uint64(0); p < w.End && w.Err == nil; {
				if v, p, w.Err = s.Varint(p, w.End); w.Err == nil {
					out, w.Err = h.appendValue(out, w.At, v, width)
				}
			}
		case packed:
			var b []byte
			b, w.Err = s.Bytes(w.Start, w.End)
			out = append(out, b...)
		default:
			out, w.Err = h.appendValue(out, w.At, w.Val, width)
		}
	}
	if w.Err == nil && int64(len(out)) != h.size {
		return nil, protobuf.Corruptf("", 0, "%d bytes of values, there were %d", len(out), h.size)
	}
	return out, w.Err
}

// appendValue appends the low bytes of a value, which must fit in them with or without a sign.
// at is the offset for errors.
func (h *head) appendValue(b []byte, at int64, v uint64, width int64) ([]byte, error) {
	most := uint64(1)<<(8*width) - 1
	x := int64(int32(v)) // all for a width of 8
	if h.list == uint64Data && v > most || h.list == int32Data && (x > int64(most) || x < -int64(most/2)-1) {
		return b, protobuf.Corruptf("", at, "%d does not fit in %d bytes", int64(v), width)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], v)
	return append(b, le[:width]...), nil
}
