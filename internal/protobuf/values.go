package protobuf

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Into says where Read stores the fields of a message, by number: pointers to values, or to an Into
// for a nested message. The *bool at 0, if any, is set if there is such a message.
type Into [16]any

// Read decodes a message. A field that occurs again replaces the earlier value, or extends a list.
func (s *Source) Read(m *Message, msg Field, level int, to *Into) error {
	if found, ok := to[0].(*bool); ok {
		*found = true
	}
	w := s.Walk(m, msg, level)
	for w.Next() {
		w.Store(to)
	}
	return w.Err
}

// Store decodes the current field, or only checks it if it is not in to.
func (w *Walk) Store(to *Into) {
	if w.Def == nil || int(w.Num) >= len(to) {
		w.Check()
		return
	}
	f := &w.Field
	s := w.s
	switch p := to[w.Num].(type) {
	case *int64:
		*p = int64(f.Val)
	case *int32:
		*p = int32(f.Val) // truncated, as protobuf requires
	case *float32:
		*p = math.Float32frombits(uint32(f.Val))
	case *string:
		b, err := s.Bytes(f.Start, f.End)
		*p = string(b)
		w.Err = err
	case *[]byte:
		b, err := s.Bytes(f.Start, f.End)
		*p = append((*p)[:0], b...)
		w.Err = err
	case *Field:
		*p = *f
	case *[]int64:
		*p, w.Err = AppendInts(s, *p, f, math.MaxInt)
	case *[]int32:
		*p, w.Err = AppendInts(s, *p, f, math.MaxInt)
	case *[]float32:
		*p, w.Err = AppendFloats(s, *p, f)
	case *Into:
		w.Err = s.Read(w.Def.Message, *f, w.level+1, p)
	default:
		w.Check()
	}
}

// IsOurs recognizes a field that this library adds to a message of the specification. In other
// files the number may have another meaning: if the value is not a valid name, it is preserved as
// an unknown field.
func (w *Walk) IsOurs() bool {
	return int(w.Num) < len(w.m.Fields) && w.m.Fields[w.Num].Kind == KindOurs &&
		w.Typ == protowire.BytesType && w.s.checkString(KindName, &w.Field) == nil
}

// Split appends the encoded fields of a message that have the given numbers to in, and the others
// to rest. If one is nil, these fields are not read.
func (s *Source) Split(m *Message, msg Field, in, rest *[]byte, nums ...protowire.Number) error {
	w := s.Walk(m, msg, 1)
	for w.Next() {
		out := rest
		if slices.Contains(nums, w.Num) {
			out = in
		}
		if out != nil {
			w.Err = s.Keep(out, &w.Field)
		}
	}
	return w.Err
}

// SplitInner appends the encoded fields of the messages in a field of msg to rest, without those
// that have the given numbers.
func (s *Source) SplitInner(m *Message, msg Field, field protowire.Number, rest *[]byte, nums ...protowire.Number) error {
	w := s.Walk(m, msg, 1)
	for w.Next() {
		if w.Num == field {
			w.Err = s.Split(w.Def.Message, w.Field, nil, rest, nums...)
		}
	}
	return w.Err
}

// Keep appends the encoded field f with its tag to out.
func (s *Source) Keep(out *[]byte, f *Field) error {
	b, err := s.Bytes(f.At, f.End)
	*out = append(*out, b...)
	return err
}

// AppendInts appends the values of a repeated integer field, packed or not, until out has most
// elements. The field must have been admitted.
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
		out = append(out, T(v))
		p = next // truncated to int32, as protobuf requires
	}
	return out, nil
}

// AppendFloats appends the values of a repeated float field, packed or not. The field must have
// been admitted.
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
