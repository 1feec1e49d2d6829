package protobuf

import (
	"bytes"
	"fmt"
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
// Each field has been validated when Next returns true. An error in Err ends the walk, with
// the name of the field added to its path.
type Walk struct {
	Field
	Def *FieldDef // nil for an unknown field
	Err error

	s          *Source
	m          *Message
	start, end int64
	level      int
	arms       uint64 // the fields of the oneof that are set
}

// Walk returns a cursor before the first field of msg, which is at the given nesting level.
func (s *Source) Walk(m *Message, msg Field, level int) (w Walk) {
	w.s = s
	w.m = m
	w.start = msg.Start
	w.end = msg.End
	w.level = level
	w.At = msg.At
	w.End = msg.Start
	if level > MaxLevels {
		w.Err = Corruptf("", msg.Start, "messages nest deeper than %d levels", MaxLevels)
	}
	return w
}

// Next advances to the next field. It writes no pointer except Def, since each pointer write needs
// a write barrier.
func (w *Walk) Next() bool {
	if p := w.End; p < w.end && w.Err == nil {
		err := w.s.Next(&w.Field, p, w.end)
		if err == nil {
			d := w.m.Known(w.Num)
			if w.Def = d; d == nil {
				return true
			}
			if err = w.s.admit(d, &w.Field); err == nil && w.m.Arms != 0 {
				if w.arms |= 1 << w.Num & w.m.Arms; w.arms == w.m.Arms {
					err = BothArms(w.At)
				}
			}
			if err == nil {
				return true
			}
		}
		w.Err = err
	}
	if w.Err != nil && w.m != nil {
		w.Err = w.s.inMessage(w.m, w.start, &w.Field, w.Err)
		w.m = nil // the path already has the name
	}
	return false
}

// inMessage adds the name of the failed field f to the path of err, with its index if it is one of
// several messages or strings: "nodes[3].name". The message begins at start.
func (s *Source) inMessage(m *Message, start int64, f *Field, err error) error {
	d := m.Known(f.Num)
	if d == nil {
		return err
	}
	if !d.Repeated || d.Kind == KindInt || d.Kind == KindFloat || d.Kind == KindDouble {
		return InField(d.Name, err)
	}
	n := 0
	for p, g := start, (Field{}); p < f.At && s.Next(&g, p, f.At) == nil; p = g.End {
		if g.Num == f.Num {
			n++
		}
	}
	return InField(fmt.Sprintf("%s[%d]", d.Name, n), err)
}

// Run returns how many fields with the number of the current one follow each other, itself
// included.
func (w *Walk) Run() (n int) {
	_, _ = w.s.Bytes(w.At, min(w.end, w.At+wholeMessage)) // it is read again
	f := w.Field
	for n = 1; f.End < w.end && w.s.Next(&f, f.End, w.end) == nil && f.Num == w.Num; {
		n++
	}
	return n
}

const wholeMessage = 32 << 10 // bytes to have in the window at once

// Check validates the message in the current field, if it is one.
func (w *Walk) Check() {
	if w.Def == nil || w.Def.Message == nil {
		return
	}
	done := false
	m := w.Def.Message
	if w.s.Watch != nil {
		done, w.Err = w.s.Watch(m, w.Field, w.level+1)
	}
	if !done {
		w.Err = w.s.Check(m, w.Field, w.level+1)
	}
}

var nowhere Into

// Check validates a message and all nested messages.
func (s *Source) Check(m *Message, msg Field, level int) error {
	return s.Read(m, msg, level, &nowhere)
}

// admit validates the wire type and the value of a field as far as they do not depend on other
// fields, and counts it. It does not validate nested messages.
func (s *Source) admit(d *FieldDef, f *Field) (err error) {
	f.N = 1
	if f.Typ != d.wire && (!d.Repeated || f.Typ != protowire.BytesType) {
		return Corruptf("", f.At, "wire type %d instead of %d", f.Typ, d.wire)
	}
	switch d.Kind {
	case KindString, KindName:
		err = s.checkString(d.Kind, f)
	case KindInt, KindFloat, KindDouble:
		if f.Typ == protowire.BytesType {
			f.N, err = s.packed(d, f)
		}
	case KindEnum:
		if int64(f.Val) != int64(int32(f.Val)) {
			err = Corruptf("", f.At, "enum value %d beyond int32", f.Val)
		}
	}
	if t, c := s.Tally, d.counted; c != 0 && t != nil && err == nil {
		if t.n[c] += f.N; t.n[c] > t.Max[c] {
			err = Defectf(f.At, tensor.ErrLimit, "more than %d %s", t.Max[c], limits[c].name)
		}
	}
	return err
}

// checkString checks that a string is UTF-8, and that a name has no NUL.
func (s *Source) checkString(k Kind, f *Field) error {
	b, err := s.Bytes(f.Start, f.End)
	switch {
	case err != nil:
		return err
	case !utf8.Valid(b):
		return Corruptf("", f.At, "invalid UTF-8")
	case k == KindName && bytes.IndexByte(b, 0) >= 0:
		return Corruptf("", f.At, "name contains a NUL byte")
	}
	return nil
}

// packed returns the number of values in a packed field.
func (s *Source) packed(d *FieldDef, f *Field) (n int64, err error) {
	width := int64(8)
	switch d.Kind {
	case KindInt:
		for p := f.Start; p < f.End && err == nil; n++ {
			_, p, err = s.Varint(p, f.End)
		}
		return n, err
	case KindFloat:
		width = 4
	}
	size := f.End - f.Start
	if size%width != 0 {
		err = Corruptf("", f.At, "%d bytes are no whole number of values of %d bytes", size, width)
	}
	return size / width, err
}
