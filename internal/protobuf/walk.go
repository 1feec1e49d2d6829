package protobuf

import (
	"bytes"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Walk is a cursor over the fields of one message:
//
//	for w := s.Walk(m, msg, level); w.Next(); {
//		switch w.Num { case 1: w.Err = ... }
//	}
//
// Each field obeys the wire rules when Next returns true. An error in Err ends the walk,
// and gets the name of the field in front of its path.
type Walk struct {
	Field
	Def *FieldDef // nil for a field that the message does not know
	Err error

	s          *Source
	m          *Message
	start, end int64
	level      int
	arms       uint64 // of the oneof, those that are set
}

// Walk begins at the first field of a message that is so many levels deep.
func (s *Source) Walk(m *Message, msg Field, level int) (w Walk) {
	w.s, w.m, w.start, w.end, w.level = s, m, msg.Start, msg.End, level
	w.End = msg.Start
	if level > MaxLevels {
		w.Err = TooDeep(msg.Start)
	}
	return w
}

// Next moves to the next field.
func (w *Walk) Next() bool {
	if p := w.End; p < w.end && w.Err == nil {
		if w.Err = w.s.Next(&w.Field, p, w.end); w.Err == nil {
			if w.Def = w.m.Known(w.Num); w.Def == nil {
				return true
			}
			if w.Err = w.s.admit(w.Def, &w.Field); w.Err == nil && w.m.Arms != 0 {
				if w.arms |= 1 << w.Num & w.m.Arms; w.arms == w.m.Arms {
					w.Err = BothArms(w.At)
				}
			}
			if w.Err == nil {
				return true
			}
		}
	}
	if w.Err != nil && w.m != nil {
		w.Err = w.s.InMessage(w.m, w.start, &w.Field, w.Err)
		w.m = nil // the name is there
	}
	return false
}

// Fail ends the walk and returns the error, with the name of the field in front of its path.
func (w *Walk) Fail(err error) error {
	w.Err = err
	w.Next()
	return w.Err
}

// Count returns how often each field occurs in a message, up to where that is broken.
func (s *Source) Count(msg Field) (n [32]int) {
	var f Field
	for p := msg.Start; p < msg.End && s.Next(&f, p, msg.End) == nil; p = f.End {
		if int(f.Num) < len(n) {
			n[f.Num]++
		}
	}
	return n
}

// Check checks the message in the field at hand, if there is one.
func (w *Walk) Check() {
	if w.Def != nil && w.Def.Message != nil {
		w.Err = w.s.Check(w.Def.Message, w.Field, w.level+1)
	}
}

// Check walks a message and all messages in it, and refuses what the wire rules forbid.
func (s *Source) Check(m *Message, msg Field, level int) error {
	w := s.Walk(m, msg, level)
	for w.Next() {
		w.Check()
	}
	return w.Err
}

// admit checks the wire type of a field, and everything about its value that does not depend
// on other fields, and counts it. Messages within are not looked into.
func (s *Source) admit(d *FieldDef, f *Field) (err error) {
	f.N = 1
	if f.Typ != d.wire && (!d.Repeated || f.Typ != protowire.BytesType) {
		return Defectf(f.At, tensor.ErrCorrupt, "wire type %d instead of %d", f.Typ, d.wire)
	}
	switch d.Kind {
	case KindString, KindName:
		err = s.checkString(d.Kind, f)
	case KindInt, KindFloat, KindDouble, KindEnum:
		if f.Typ == protowire.BytesType || d.Kind == KindEnum {
			f.N, err = s.values(d, f)
		}
	}
	if d.counts && s.Tally != nil && err == nil {
		err = s.Tally.add(d, f)
	}
	return err
}

// checkString checks UTF-8, and of names that they have no NUL.
func (s *Source) checkString(k Kind, f *Field) error {
	b, err := s.Bytes(f.Start, f.End)
	switch {
	case err != nil:
		return err
	case !utf8.Valid(b):
		return Defectf(f.At, tensor.ErrCorrupt, "invalid UTF-8")
	case k == KindName && bytes.IndexByte(b, 0) >= 0:
		return Defectf(f.At, tensor.ErrCorrupt, "name contains a NUL byte")
	}
	return nil
}

// values returns how many numbers a field holds, packed or not, and refuses what is none.
func (s *Source) values(d *FieldDef, f *Field) (int64, error) {
	size := f.End - f.Start
	switch {
	case f.Typ != protowire.BytesType:
		if d.Kind == KindEnum && int64(f.Val) != int64(int32(f.Val)) {
			return 0, Defectf(f.At, tensor.ErrCorrupt, "enum value %d beyond int32", f.Val)
		}
		return 1, nil
	case d.Kind == KindDouble && size%8 != 0:
		return 0, Defectf(f.At, tensor.ErrCorrupt, "%d bytes are no whole number of doubles", size)
	case d.Kind == KindFloat && size%4 != 0:
		return 0, Defectf(f.At, tensor.ErrCorrupt, "%d bytes are no whole number of floats", size)
	case d.Kind == KindDouble:
		return size / 8, nil
	case d.Kind == KindFloat:
		return size / 4, nil
	}
	return s.countVarints(f.Start, f.End)
}

// countVarints counts the varints from p to end, in pieces.
func (s *Source) countVarints(p, end int64) (n int64, err error) {
	const piece, longest = 64 << 10, 10
	start := p // of the varint at hand
	for p < end {
		b, err := s.Bytes(p, min(p+piece, end))
		if err != nil {
			return n, err
		}
		for i, c := range b {
			if c > 1 && p+int64(i)-start == longest-1 {
				_, _, err := s.Varint(start, end)
				return n, err
			}
			if c < 0x80 {
				start = p + int64(i) + 1
				n++
			}
		}
		p += int64(len(b))
	}
	if start < end {
		_, _, err = s.Varint(start, end)
	}
	return n, err
}
