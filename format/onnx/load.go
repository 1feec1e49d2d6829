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
		_, err := w.Write(f.graph.Win[r.at:r.end])
		return err
	}
	b, err := f.src.Slice(r.at, r.end-r.at)
	if err != nil {
		return err
	}
	var h head
	h.reset()
	s := protobuf.InMemory(b)
	if err = h.read(s, 0, s.Size, 3); err == nil {
		err = h.check(0)
	}
	if err == nil && (h.list == 0 || h.size != f.index.Size(i)) {
		err = protobuf.Defectf(0, tensor.ErrCorrupt, "the file changed since it was opened")
	}
	if err == nil {
		err = h.typed(s, w)
	}
	if d, ok := err.(*protobuf.Defect); ok {
		return wire.Error(formatName, fmt.Sprintf("tensor %q", f.index.Name(i)), r.at+d.At, fmt.Errorf("%s: %w", d.Path, d.Err))
	}
	return err
}

// bytes returns the data of a tensor whose message is s, which h was read from and
// checked: little-endian and aligned, or the fields themselves.
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
	b, err := s.Bytes(h.raw.Start, h.raw.End)
	if err != nil {
		return nil, err
	}
	return append(memory.Aligned(len(b))[:0], b...), nil
}

// typed writes typed data. What the message says may have changed since it was
// checked: the size of the result does not.
func (h *head) typed(s *protobuf.Source, w io.Writer) error {
	const step = 64 << 10
	left, piece := h.size, make([]byte, 0, min(h.size, step)+8)
	flush := func() error {
		_, err := w.Write(piece)
		piece = piece[:0]
		return err
	}
	width := h.size / max(1, h.values)
	err := s.Each(tensorMsg, protobuf.Field{End: s.Size}, func(f protobuf.Field) error {
		if int(f.Num) != h.list {
			return nil
		}
		if h.inFields() {
			b, err := s.Bytes(f.At, f.End)
			if err != nil || int64(len(b)) > left {
				return err
			}
			left -= int64(len(b))
			_, err = w.Write(b)
			return err
		}
		return eachValue(s, &f, func(v uint64) error {
			if left -= width; left < 0 {
				return protobuf.Defectf(f.At, tensor.ErrCorrupt, "more values than there were")
			}
			if h.list == int32Data && !fits(v, width) || h.list == uint64Data && width == 4 && v > math.MaxUint32 {
				return protobuf.Defectf(f.At, tensor.ErrCorrupt, "%d does not fit in %d bytes", int64(v), width)
			}
			if piece = appendValue(piece, v, width); len(piece) >= step {
				return flush()
			}
			return nil
		})
	})
	if err == nil {
		err = flush()
	}
	if err == nil && left != 0 {
		err = protobuf.Defectf(0, tensor.ErrCorrupt, "fewer values than there were")
	}
	return err
}

// fits reports whether an int32 holds the value of so many bytes, with or without a sign.
func fits(v uint64, width int64) bool {
	x := int64(int32(v))
	switch width {
	case 1:
		return x >= math.MinInt8 && x <= math.MaxUint8
	case 2:
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
