package wia

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxLevels is how deep messages may nest, the outermost counted as 1.
const maxLevels = 100

// defect is what is wrong in a message: its path is completed on the way out, so
// that good input pays nothing for it.
type defect struct {
	path string
	at   int64 // within the payload of the block
	err  error
}

func (d *defect) Error() string { return d.path + ": " + d.err.Error() }
func (d *defect) Unwrap() error { return d.err }

// defectf makes a defect of a sentinel and a text.
func defectf(at int64, sentinel error, text string, args ...any) error {
	return &defect{at: at, err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...))}
}

// inField puts the name of a field before the path of a defect.
func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	var d *defect
	if errors.As(err, &d) {
		if d.path != "" {
			name += "." + d.path
		}
		d.path = name
	}
	return err
}

// source is the payload of a block: all of it, or a window that moves on.
type source struct {
	win  []byte
	lo   int64 // payload offset of win[0]
	size int64
	from *window // moves win; nil when that is everything

	carriers bool   // check met tensors with data in the outermost message
	tally    *tally // counts what check meets, nil for nothing
	checked  bool   // the wire rules of all of it hold: nothing needs to be admitted again
}

func inMemory(payload []byte) *source { return &source{win: payload, size: int64(len(payload))} }

// bytes returns the payload bytes from..to, which the caller has checked. Those of
// a window are valid until it moves.
func (s *source) bytes(from, to int64) ([]byte, error) {
	if i, j := from-s.lo, to-s.lo; i >= 0 && j <= int64(len(s.win)) {
		return s.win[i:j:j], nil
	}
	if s.from == nil {
		return nil, defectf(from, tensor.ErrCorrupt, "the block ends before its message")
	}
	win, err := s.from.fill(from, to-from)
	if err != nil {
		return nil, err
	}
	s.win, s.lo = win, from
	return win[: to-from : to-from], nil
}

// varint reads a varint at p, which must end by end.
func (s *source) varint(p, end int64) (v uint64, next int64, err error) {
	if i := p - s.lo; p < end && i >= 0 && i < int64(len(s.win)) && s.win[i] < 0x80 {
		return uint64(s.win[i]), p + 1, nil
	}
	b, err := s.bytes(p, min(end, p+10))
	if err != nil {
		return 0, p, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, p, defectf(p, tensor.ErrCorrupt, "bad varint: %v", protowire.ParseError(n))
	}
	return v, p + int64(n), nil
}

// field is one field of a message on the wire.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	at    int64  // of the tag
	start int64  // of the value, for bytes behind the length
	end   int64  // of the value
	val   uint64 // of varint, fixed32 and fixed64
}

// next reads the field at p of a message that ends at end. It refuses what no
// field may be: groups, reserved wire types, field numbers out of range, lengths
// beyond the message. Nearly all fields of a model have one byte of tag and one
// of value or length: these are read here.
func (s *source) next(f *field, p, end int64) error {
	if i := p - s.lo; i >= 0 && i+1 < int64(len(s.win)) && p+1 < end {
		tag, v := s.win[i], s.win[i+1]
		if tag >= 1<<3 && tag < 0x80 && v < 0x80 {
			f.num, f.typ, f.at = protowire.Number(tag>>3), protowire.Type(tag&7), p
			switch f.typ {
			case protowire.BytesType:
				f.start, f.end = p+2, p+2+int64(v)
				if f.end <= end {
					return nil
				}
			case protowire.VarintType:
				f.start, f.end, f.val = p+1, p+2, uint64(v)
				return nil
			}
		}
	}
	*f = field{at: p}
	return s.nextAny(f, p, end)
}

// nextAny is next for all other fields.
func (s *source) nextAny(f *field, p, end int64) error {
	tag, p, err := s.varint(p, end)
	if err != nil {
		return err
	}
	if n := tag >> 3; n < uint64(protowire.MinValidNumber) || n > uint64(protowire.MaxValidNumber) {
		return defectf(f.at, tensor.ErrCorrupt, "field number %d", n)
	}
	f.num, f.typ, f.start = protowire.Number(tag>>3), protowire.Type(tag&7), p
	switch f.typ {
	case protowire.VarintType:
		f.val, f.end, err = s.varint(p, end)
	case protowire.BytesType:
		var n uint64
		if n, f.start, err = s.varint(p, end); err == nil && n > uint64(end-f.start) {
			err = defectf(f.at, tensor.ErrCorrupt, "field %d: length %d, %d bytes are left in the message", f.num, n, end-f.start)
		}
		f.end = f.start + int64(n)
	case protowire.Fixed32Type:
		err = s.fixed(f, 4, end)
	case protowire.Fixed64Type:
		err = s.fixed(f, 8, end)
	case protowire.StartGroupType, protowire.EndGroupType:
		err = defectf(f.at, tensor.ErrCorrupt, "field %d: groups are not allowed", f.num)
	default:
		err = defectf(f.at, tensor.ErrCorrupt, "field %d: reserved wire type %d", f.num, f.typ)
	}
	return err
}

// fixed reads the value of a fixed32 or fixed64 field.
func (s *source) fixed(f *field, n, end int64) error {
	if n > end-f.start {
		return defectf(f.at, tensor.ErrCorrupt, "field %d: %d bytes of value, %d are left in the message", f.num, n, end-f.start)
	}
	f.end = f.start + n
	b, err := s.bytes(f.start, f.end)
	if err != nil {
		return err
	}
	if n == 4 {
		f.val = uint64(binary.LittleEndian.Uint32(b))
	} else {
		f.val = binary.LittleEndian.Uint64(b)
	}
	return nil
}

// admit checks a field that the message knows: its wire type, and everything
// about its value that does not depend on other fields. Messages within are not
// looked into. It returns the definition, nil for an unknown field.
func (s *source) admit(m *message, f *field) (*fieldDef, error) {
	d := m.known(f.num)
	if d == nil || s.checked {
		return d, nil
	}
	if f.typ != d.wire && (!d.repeated || f.typ != protowire.BytesType) {
		return d, defectf(f.at, tensor.ErrCorrupt, "wire type %d instead of %d", f.typ, d.wire)
	}
	switch d.kind {
	case kindString, kindName:
		return d, s.checkString(d, f)
	case kindInt, kindFloat, kindEnum:
		return d, s.checkScalar(d, f)
	}
	return d, nil
}

// checkString checks UTF-8, and of names that they have no NUL.
func (s *source) checkString(d *fieldDef, f *field) error {
	b, err := s.bytes(f.start, f.end)
	switch {
	case err != nil:
		return err
	case !utf8.Valid(b):
		return defectf(f.at, tensor.ErrCorrupt, "invalid UTF-8")
	case d.kind == kindName && bytes.IndexByte(b, 0) >= 0:
		return defectf(f.at, tensor.ErrCorrupt, "name contains a NUL byte")
	}
	return nil
}

// checkScalar checks numbers, also packed ones.
func (s *source) checkScalar(d *fieldDef, f *field) error {
	if f.typ != protowire.BytesType {
		if d.kind == kindEnum && int64(f.val) != int64(int32(f.val)) {
			return defectf(f.at, tensor.ErrCorrupt, "enum value %d beyond int32", f.val)
		}
		return nil
	}
	if d.kind == kindFloat {
		if (f.end-f.start)%4 != 0 {
			return defectf(f.at, tensor.ErrCorrupt, "%d bytes are no whole number of floats", f.end-f.start)
		}
		return nil
	}
	for p := f.start; p < f.end; {
		var err error
		if _, p, err = s.varint(p, f.end); err != nil {
			return err
		}
	}
	return nil
}

// check walks a message and all in it, to the given level, and refuses what
// the wire rules of the format forbid.
func (s *source) check(m *message, p, end int64, level int) error {
	if s.checked {
		return nil
	}
	if level > maxLevels {
		return tooDeep(p)
	}
	start := p
	var seen uint64
	var f field
	for p < end {
		if err := s.next(&f, p, end); err != nil {
			return s.inMessage(m, start, &f, err)
		}
		d, err := s.admit(m, &f)
		if d != nil && err == nil && d.counted != notCounted && s.tally != nil {
			err = s.count(d, &f)
		}
		if d != nil && err == nil {
			if d.message != nil {
				err = s.check(d.message, f.start, f.end, level+1)
			}
			if seen |= 1 << f.num; err == nil && m.arms != 0 && seen&m.arms == m.arms {
				err = bothArms(f.at)
			}
		}
		if err != nil {
			return s.inMessage(m, start, &f, err)
		}
		p = f.end
	}
	if level == 2 && seen&m.arms != 0 {
		s.carriers = true
	}
	return nil
}

func tooDeep(at int64) error {
	return defectf(at, tensor.ErrCorrupt, "messages nest deeper than %d levels", maxLevels)
}

func bothArms(at int64) error {
	return defectf(at, tensor.ErrCorrupt, "both arms of the oneof are set")
}

// inMessage puts the name of a field that failed before the path of the error, and
// its index if it is one of several messages or strings: "nodes[3].name". The
// message begins at start.
func (s *source) inMessage(m *message, start int64, f *field, err error) error {
	d := m.known(f.num)
	if d == nil {
		return err
	}
	if !d.repeated || d.kind == kindInt || d.kind == kindFloat {
		return inField(d.name, err)
	}
	var g field
	n := 0
	for p := start; p < f.at; {
		if s.next(&g, p, f.at) != nil {
			break
		}
		if g.num == f.num {
			n++
		}
		p = g.end
	}
	return inField(fmt.Sprintf("%s[%d]", d.name, n), err)
}

// each calls f for the fields of one message.
func (s *source) each(m *message, msg field, f func(field) error) error {
	var fl field
	for p := msg.start; p < msg.end; {
		err := s.next(&fl, p, msg.end)
		if err == nil {
			err = f(fl)
		}
		if err != nil {
			return s.inMessage(m, msg.start, &fl, err)
		}
		p = fl.end
	}
	return nil
}

// eachChecked calls f for the fields of one message after their wire rules were
// checked; messages in it are left to f.
func (s *source) eachChecked(m *message, msg field, f func(field) error) error {
	var fl field
	for p := msg.start; p < msg.end; {
		err := s.next(&fl, p, msg.end)
		if err == nil && !s.checked {
			_, err = s.admit(m, &fl)
		}
		if err == nil {
			err = f(fl)
		}
		if err != nil {
			return s.inMessage(m, msg.start, &fl, err)
		}
		p = fl.end
	}
	return nil
}
