package protobuf

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Last returns the bytes of a field of a message, where it occurs last.
func (s *Source) Last(def *Message, msg Field, num protowire.Number) (b []byte, err error) {
	err = s.Each(def, msg, func(f Field) (err error) {
		if f.Num == num {
			b, err = s.Bytes(f.Start, f.End)
		}
		return err
	})
	return b, err
}

// IsOurs recognizes the one field that this library adds to a message that the
// specification prints. Elsewhere the number may mean something else: what
// cannot be a name is kept as an unknown field.
func (s *Source) IsOurs(def *Message, f *Field) bool {
	return int(f.Num) < len(def.Fields) && def.Fields[f.Num].Kind == KindOurs &&
		f.Typ == protowire.BytesType && s.checkString(KindName, f) == nil
}

// Keep appends a field, tag and all.
func (s *Source) Keep(out *[]byte, f *Field) error {
	b, err := s.Bytes(f.At, f.End)
	*out = append(*out, b...)
	return err
}

// AppendInts reads a repeated integer that was admitted, packed or not, up to a number of most.
func AppendInts[T int32 | int64](s *Source, out []T, f *Field, most int) ([]T, error) {
	if f.N > int64(most-len(out)) {
		return out, Defectf(f.At, tensor.ErrLimit, "more than %d", most)
	}
	if f.Typ == protowire.VarintType {
		return append(out, T(f.Val)), nil
	}
	out = slices.Grow(out, int(f.N))
	for p := f.Start; p < f.End; {
		v, next, err := s.Varint(p, f.End)
		if err != nil {
			return out, err
		}
		out, p = append(out, T(v)), next // what is beyond int32 is cut off, as everywhere in protobuf
	}
	return out, nil
}

// AppendFloats reads a repeated float that was admitted, packed or not.
func AppendFloats(s *Source, out []float32, f *Field) ([]float32, error) {
	if f.Typ == protowire.Fixed32Type {
		return append(out, math.Float32frombits(uint32(f.Val))), nil
	}
	b, err := s.Bytes(f.Start, f.End)
	out = slices.Grow(out, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return out, err
}

// Str reads a string field.
func (s *Source) Str(out *string, f *Field) error {
	b, err := s.Bytes(f.Start, f.End)
	*out = string(b)
	return err
}

// CopyTo replaces out by a copy of a field's bytes, which do not change any more.
func (s *Source) CopyTo(out *[]byte, f *Field) error {
	b, err := s.Bytes(f.Start, f.End)
	*out = append((*out)[:0], b...)
	return err
}
