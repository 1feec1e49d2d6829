package protobuf

import (
	"math"
	"slices"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// growValues makes room for n elements more of a list that take knows.
func growValues(list any, n int) {
	switch p := list.(type) {
	case *[]string:
		*p = slices.Grow(*p, n)
	case *[]int64:
		*p = slices.Grow(*p, n)
	case *[]float32:
		*p = slices.Grow(*p, n)
	}
}

// Occurrences returns where a field of a message that was checked occurs.
func (s *Source) Occurrences(def *Message, msg Field, num protowire.Number) (list []Field) {
	for pass, n := 0, 0; pass < 2; pass++ {
		list = slices.Grow(list, n)
		_ = s.Each(def, msg, func(f Field) error {
			switch {
			case f.Num != num:
			case pass == 0:
				n++
			default:
				list = append(list, f)
			}
			return nil
		})
	}
	return list
}

// Read reads a field of a message that was checked into the Go field that to points to:
// the last of the occurrences of one value, all elements of a list.
func (s *Source) Read(def *Message, msg Field, num protowire.Number, to any) error {
	d := def.Known(num)
	if d.Repeated {
		n := int64(0)
		err := s.Each(def, msg, func(f Field) error {
			if f.Num != num {
				return nil
			}
			more, err := s.elements(d, &f)
			n += more
			return err
		})
		if err != nil {
			return err
		}
		growValues(to, int(n))
	}
	return s.Each(def, msg, func(f Field) error {
		if f.Num != num {
			return nil
		}
		return s.take(to, &f)
	})
}

// Last returns the bytes of a field of a message that was checked, where it occurs last.
func (s *Source) Last(def *Message, msg Field, num protowire.Number) (b []byte, err error) {
	err = s.Each(def, msg, func(f Field) (err error) {
		if f.Num == num {
			b, err = s.Bytes(f.Start, f.End)
		}
		return err
	})
	return b, err
}

// OrEmpty returns a list that is not nil.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// IsOurs recognizes the one field that this library adds to a message that the
// specification prints. Elsewhere the number may mean something else: what
// cannot be a name is kept as an unknown field.
func (s *Source) IsOurs(def *Message, f *Field) bool {
	return int(f.Num) < len(def.Fields) && def.Fields[f.Num].Kind == KindOurs &&
		f.Typ == protowire.BytesType && s.checkString(KindName, f) == nil
}

// take reads a field into the Go field that to points to.
func (s *Source) take(to any, f *Field) (err error) {
	switch p := to.(type) {
	case *string:
		err = s.Str(p, f)
	case *[]string:
		var text string
		err = s.Str(&text, f)
		*p = append(*p, text)
	case *int64:
		*p = int64(f.Val)
	case *float32:
		*p = math.Float32frombits(uint32(f.Val))
	case *[]int64:
		*p, err = AppendInts(s, *p, f, maxNumbers)
	case *[]float32:
		*p, err = AppendFloats(s, *p, f)
	}
	return err
}

// Str reads a string field.
func (s *Source) Str(out *string, f *Field) error {
	b, err := s.Bytes(f.Start, f.End)
	for _, usual := range s.Usual {
		if string(b) == usual {
			*out = usual
			return err
		}
	}
	*out = string(b)
	return err
}

// Keep appends a field, tag and all, to the unknown ones.
func (s *Source) Keep(out *[]byte, f *Field) error {
	b, err := s.Bytes(f.At, f.End)
	*out = append(*out, b...)
	return err
}

// AppendInts reads a repeated integer, packed or not, up to a number of most.
func AppendInts(s *Source, out []int64, f *Field, most int) ([]int64, error) {
	if f.Typ == protowire.VarintType {
		out = append(out, int64(f.Val))
	} else if s.From == nil {
		// They are counted before there is memory for them.
		n, err := s.elements(&FieldDef{wire: protowire.VarintType}, f)
		if err != nil {
			return out, err
		}
		if n > int64(most-len(out)) {
			return out, Defectf(f.At, tensor.ErrLimit, "more than %d", most)
		}
		out = slices.Grow(out, int(n))
	}
	for p := f.Start; f.Typ == protowire.BytesType && p < f.End && len(out) <= most; {
		v, next, err := s.Varint(p, f.End)
		if err != nil {
			return out, err
		}
		out, p = append(out, int64(v)), next
	}
	if len(out) > most {
		return out, Defectf(f.At, tensor.ErrLimit, "more than %d", most)
	}
	return out, nil
}

// AppendDims is AppendInts for the dims of a tensor.
func AppendDims(s *Source, out []int64, f *Field) ([]int64, error) {
	if s.Dims > 0 {
		return AppendInts(s, out, f, s.Dims)
	}
	return AppendInts(s, out, f, MaxDims)
}

// AppendInt32s reads a repeated int32; what is beyond is cut off, as everywhere
// in protobuf.
func AppendInt32s(s *Source, out []int32, f *Field) ([]int32, error) {
	if f.Typ == protowire.VarintType {
		return append(out, int32(f.Val)), nil
	}
	for p := f.Start; p < f.End; {
		v, next, err := s.Varint(p, f.End)
		if err != nil {
			return out, err
		}
		out, p = append(out, int32(v)), next
	}
	return out, nil
}

// AppendFloats reads a repeated float, packed or not.
func AppendFloats(s *Source, out []float32, f *Field) ([]float32, error) {
	if f.Typ == protowire.Fixed32Type {
		return append(out, math.Float32frombits(uint32(f.Val))), nil
	}
	b, err := s.Bytes(f.Start, f.End)
	out = slices.Grow(out, len(b)/4)
	for ; err == nil && len(b) >= 4; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		out = append(out, math.Float32frombits(v))
	}
	return out, err
}

// CopyTo replaces out by a copy of a field's bytes, which do not change any more.
func (s *Source) CopyTo(out *[]byte, f *Field) error {
	b, err := s.Bytes(f.Start, f.End)
	*out = append((*out)[:0], b...)
	return err
}

// Hold checks a message and keeps all of it in the window, so that what is read
// next is what was checked.
func (s *Source) Hold(m *Message, f *Field, level int) error {
	if _, err := s.Bytes(f.Start, f.End); err != nil {
		return err
	}
	return s.Check(m, *f, level)
}
