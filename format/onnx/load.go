package onnx

import (
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
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
	text := memory.String(raw)
	data, err := loadTyped(text)
	e, ok := err.(*messages.Error)
	if !ok {
		return data, err
	}
	field := table.Path(typeTensor, text, e)
	err = fmt.Errorf("%s: %w", field, e.Err)
	name := fmt.Sprintf("tensor %q", f.index.Name(i))
	return nil, wire.Error(formatName, name, r.at+max(e.At, 0)+e.Skip, err)
}

// loadTyped returns the typed data of an encoded tensor, which may have changed since it was
// checked: the engine compares the length.
func loadTyped(text string) ([]byte, error) {
	m, err := table.Check(typeTensor, text, messages.NewCounts())
	if err != nil {
		return nil, err
	}
	h := &head{}
	err = h.read(m)
	if err != nil {
		return nil, err
	}
	err = h.check()
	if err != nil {
		return nil, err
	}
	return h.bytes()
}

// bytes returns a copy of the data of a tensor in memory: little-endian, or the fields themselves.
func (h *head) bytes() ([]byte, error) {
	switch {
	case h.list != 0:
		return h.typed()
	case h.raw.found && h.size > 0:
		return append(memory.Aligned(len(h.raw.text))[:0], h.raw.text...), nil
	}
	return []byte{}, nil
}

// typed returns typed data as raw data. The message may have changed since it was checked: the size
// of the result does not.
func (h *head) typed() ([]byte, error) {
	err := wire.CheckSize(h.size)
	if err != nil {
		return nil, err
	}
	out := memory.Aligned(int(h.size))[:0]
	width := h.size / max(1, h.values)
	for f := h.message.Cursor(); f.Next(); {
		if f.Number != h.list {
			continue
		}
		if h.inFields() {
			out = append(out, f.Raw()...)
			continue
		}
		out, err = h.appendValues(out, &f, width)
		if err != nil {
			return nil, err
		}
	}
	if int64(len(out)) != h.size {
		return nil, messages.Errorf(0, "", tensor.ErrCorrupt,
			"%d bytes of values, there were %d", len(out), h.size)
	}
	return out, nil
}

// appendValues appends the values of a field, packed or not.
func (h *head) appendValues(out []byte, f *messages.Cursor, width int64) (_ []byte, err error) {
	if f.Wire != messages.Bytes {
		return h.appendValue(out, f.At(), f.Bits(), width)
	}
	if h.list == floatData || h.list == doubleData {
		return append(out, f.Text()...), nil
	}
	for text := f.Text(); text != ""; {
		v, n := messages.ConsumeVarint(text)
		if n <= 0 {
			return out, nil // the file changed, and the size will be another
		}
		text = text[n:]
		out, err = h.appendValue(out, f.At(), v, width)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendValue appends the low bytes of a value, which must fit in them with or without a sign.
// at is the offset for errors.
func (h *head) appendValue(b []byte, at int64, v uint64, width int64) ([]byte, error) {
	most := uint64(1)<<(8*width) - 1 // all bits for a width of 8
	x := int64(int32(v))             // of int32_data, whose higher bits do not count
	isLarge := h.list == uint64Data && v > most
	isOutside := h.list == int32Data && (x > int64(most) || x < -int64(most/2)-1)
	if isLarge || isOutside {
		return b, messages.Errorf(at, "", tensor.ErrCorrupt,
			"%d does not fit in %d bytes", int64(v), width)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], v)
	return append(b, le[:width]...), nil
}
