package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Load implements driver.Loader for typed data, which is not in the file as such, and
// for sparse tensors, which are handed out in wire form.
func (f *parsed) Load(i int) ([]byte, error) {
	r := &f.records[i]
	if r.sparse {
		b := f.graph.Win[r.at:r.end]
		return append(memory.Aligned(len(b))[:0], b...), nil
	}
	b, err := f.src.Slice(r.at, r.end-r.at)
	if err != nil {
		return nil, err
	}
	var h head
	h.reset()
	var data []byte
	s := protobuf.InMemory(b)
	if err = h.read(s, 0, s.Size, 3); err == nil {
		err = h.check(0)
	}
	if err == nil && (h.list == 0 || h.size != f.index.Size(i)) {
		err = protobuf.Defectf(0, tensor.ErrCorrupt, "the file changed since it was opened")
	}
	if err == nil {
		data, err = h.typed(s)
	}
	if d, ok := err.(*protobuf.Defect); ok {
		return nil, wire.Error(formatName, fmt.Sprintf("tensor %q", f.index.Name(i)), r.at+d.At, fmt.Errorf("%s: %w", d.Path, d.Err))
	}
	return data, err
}

// bytes returns the data of a tensor whose message is s, which h was read from and
// checked: little-endian and aligned, strings in wire form.
func (h *head) bytes(s *protobuf.Source) ([]byte, error) {
	switch {
	case h.list != 0:
		return h.typed(s)
	case !h.hasRaw || h.size == 0:
		return []byte{}, nil
	}
	b, err := s.Bytes(h.raw.Start, h.raw.End)
	if err != nil {
		return nil, err
	}
	return append(memory.Aligned(len(b))[:0], b...), nil
}

// typed returns typed data. What the message says may have changed since it was
// checked: the size of the result does not.
func (h *head) typed(s *protobuf.Source) ([]byte, error) {
	out := memory.Aligned(int(h.size))[:0]
	width := listWidth(h.list)
	if h.sized() {
		width = h.size / max(1, h.values)
	}
	err := s.Each(tensorMsg, protobuf.Field{End: s.Size}, func(f protobuf.Field) error {
		if int(f.Num) != h.list {
			return nil
		}
		if h.list == stringData {
			b, err := s.Bytes(f.At, f.End)
			if int64(len(out)+len(b)) <= h.size {
				out = append(out, b...)
			}
			return err
		}
		return eachValue(s, &f, func(v uint64) error {
			if int64(len(out))+width > h.size {
				return protobuf.Defectf(f.At, tensor.ErrCorrupt, "more values than there were")
			}
			if h.list == int32Data && !fits(v, width) || h.list == uint64Data && width == 4 && v > math.MaxUint32 {
				return protobuf.Defectf(f.At, tensor.ErrCorrupt, "%d does not fit in %d bytes", int64(v), width)
			}
			out = appendValue(out, v, width)
			return nil
		})
	})
	if err == nil && int64(len(out)) != h.size {
		err = protobuf.Defectf(0, tensor.ErrCorrupt, "fewer values than there were")
	}
	return out, err
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
