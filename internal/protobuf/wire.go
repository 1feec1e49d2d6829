package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// MaxLevels is how deep messages may nest, the outermost counted as 1.
const MaxLevels = 100

// Defect is what is wrong in a message: its path is completed on the way out, so
// that good input pays nothing for it.
type Defect struct {
	Path string
	At   int64 // within the Source
	Err  error
	// Short says that a field does not end before its message does.
	Short bool
}

func (d *Defect) Error() string { return d.Path + ": " + d.Err.Error() }
func (d *Defect) Unwrap() error { return d.Err }

// Defectf makes a defect of a sentinel and a text.
func Defectf(at int64, sentinel error, text string, args ...any) error {
	return &Defect{At: at, Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...))}
}

// tooShort makes the defect of a field that its message has no room for.
func tooShort(at int64, text string, args ...any) error {
	return &Defect{At: at, Err: fmt.Errorf("%w: %s", tensor.ErrCorrupt, fmt.Sprintf(text, args...)), Short: true}
}

// InField puts the name of a field before the path of a defect.
func InField(name string, err error) error {
	if err == nil {
		return nil
	}
	var d *Defect
	if errors.As(err, &d) {
		if d.Path != "" {
			name += "." + d.Path
		}
		d.Path = name
	}
	return err
}

// Source is what messages are read from: all of it in memory, or a window that moves on.
type Source struct {
	Win  []byte
	lo   int64 // offset of Win[0]
	Size int64
	From *Window // moves Win; nil when that is everything

	Dims  int    // how many dims a tensor may have, 0 for MaxDims
	Tally *Tally // counts what Check meets, nil for nothing
}

func InMemory(payload []byte) *Source { return &Source{Win: payload, Size: int64(len(payload))} }

// Bytes returns the bytes from..to, which the caller has checked. Those of
// a window are valid until it moves.
func (s *Source) Bytes(from, to int64) ([]byte, error) {
	if i, j := from-s.lo, to-s.lo; i >= 0 && j <= int64(len(s.Win)) {
		return s.Win[i:j:j], nil
	}
	if s.From == nil {
		return nil, Defectf(from, tensor.ErrCorrupt, "the data ends before its message")
	}
	win, err := s.From.fill(from, to-from)
	if err != nil {
		return nil, err
	}
	s.Win, s.lo = win, from
	return win[: to-from : to-from], nil
}

// Varint reads a varint at p, which must end by end.
func (s *Source) Varint(p, end int64) (v uint64, next int64, err error) {
	if i := p - s.lo; p < end && i >= 0 && i < int64(len(s.Win)) && s.Win[i] < 0x80 {
		return uint64(s.Win[i]), p + 1, nil
	}
	b, err := s.Bytes(p, min(end, p+10))
	if err != nil {
		return 0, p, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 && end-p < 10 {
		return 0, p, tooShort(p, "bad varint: %v", protowire.ParseError(n))
	}
	if n < 0 {
		return 0, p, Defectf(p, tensor.ErrCorrupt, "bad varint: %v", protowire.ParseError(n))
	}
	return v, p + int64(n), nil
}

// Field is one field of a message on the wire.
type Field struct {
	Num   protowire.Number
	Typ   protowire.Type
	At    int64  // of the tag
	Start int64  // of the value, for bytes behind the length
	End   int64  // of the value
	Val   uint64 // of varint, fixed32 and fixed64
	N     int64  // how many values there are, set by Walk
}

// Next reads the field at p of a message that ends at end. It refuses what no
// field may be: groups, reserved wire types, field numbers out of range, lengths
// beyond the message. Nearly all fields of a model have one byte of tag and one
// of value or length: these are read here.
func (s *Source) Next(f *Field, p, end int64) error {
	if i := p - s.lo; i >= 0 && i+1 < int64(len(s.Win)) && p+1 < end {
		tag, v := s.Win[i], s.Win[i+1]
		if tag >= 1<<3 && tag < 0x80 && v < 0x80 {
			f.Num, f.Typ, f.At = protowire.Number(tag>>3), protowire.Type(tag&7), p
			switch f.Typ {
			case protowire.BytesType:
				f.Start, f.End = p+2, p+2+int64(v)
				if f.End <= end {
					return nil
				}
			case protowire.VarintType:
				f.Start, f.End, f.Val = p+1, p+2, uint64(v)
				return nil
			}
		}
	}
	*f = Field{At: p}
	return s.nextAny(f, p, end)
}

// nextAny is next for all other fields.
func (s *Source) nextAny(f *Field, p, end int64) error {
	tag, p, err := s.Varint(p, end)
	if err != nil {
		return err
	}
	if n := tag >> 3; n < uint64(protowire.MinValidNumber) || n > uint64(protowire.MaxValidNumber) {
		return Defectf(f.At, tensor.ErrCorrupt, "field number %d", n)
	}
	f.Num, f.Typ, f.Start = protowire.Number(tag>>3), protowire.Type(tag&7), p
	switch f.Typ {
	case protowire.VarintType:
		f.Val, f.End, err = s.Varint(p, end)
	case protowire.BytesType:
		var n uint64
		if n, f.Start, err = s.Varint(p, end); err == nil && n > uint64(end-f.Start) {
			err = tooShort(f.At, "field %d: length %d, %d bytes are left in the message", f.Num, n, end-f.Start)
		}
		f.End = f.Start + int64(n)
	case protowire.Fixed32Type:
		err = s.fixed(f, 4, end)
	case protowire.Fixed64Type:
		err = s.fixed(f, 8, end)
	case protowire.StartGroupType, protowire.EndGroupType:
		err = Defectf(f.At, tensor.ErrCorrupt, "field %d: groups are not allowed", f.Num)
	default:
		err = Defectf(f.At, tensor.ErrCorrupt, "field %d: reserved wire type %d", f.Num, f.Typ)
	}
	return err
}

// fixed reads the value of a fixed32 or fixed64 field.
func (s *Source) fixed(f *Field, n, end int64) error {
	if n > end-f.Start {
		return tooShort(f.At, "field %d: %d bytes of value, %d are left in the message", f.Num, n, end-f.Start)
	}
	f.End = f.Start + n
	b, err := s.Bytes(f.Start, f.End)
	if err != nil {
		return err
	}
	if n == 4 {
		f.Val = uint64(binary.LittleEndian.Uint32(b))
	} else {
		f.Val = binary.LittleEndian.Uint64(b)
	}
	return nil
}

func TooDeep(at int64) error {
	return Defectf(at, tensor.ErrCorrupt, "messages nest deeper than %d levels", MaxLevels)
}

func BothArms(at int64) error {
	return Defectf(at, tensor.ErrCorrupt, "both arms of the oneof are set")
}

// InMessage puts the name of a field that failed before the path of the error, and
// its index if it is one of several messages or strings: "nodes[3].name". The
// message begins at start.
func (s *Source) InMessage(m *Message, start int64, f *Field, err error) error {
	d := m.Known(f.Num)
	if d == nil {
		return err
	}
	if !d.Repeated || d.Kind == KindInt || d.Kind == KindFloat || d.Kind == KindDouble {
		return InField(d.Name, err)
	}
	var g Field
	n := 0
	for p := start; p < f.At; {
		if s.Next(&g, p, f.At) != nil {
			break
		}
		if g.Num == f.Num {
			n++
		}
		p = g.End
	}
	return InField(fmt.Sprintf("%s[%d]", d.Name, n), err)
}

// Each calls f for the fields of one message.
func (s *Source) Each(m *Message, msg Field, f func(Field) error) error {
	var fl Field
	for p := msg.Start; p < msg.End; {
		err := s.Next(&fl, p, msg.End)
		if err == nil {
			err = f(fl)
		}
		if err != nil {
			return s.InMessage(m, msg.Start, &fl, err)
		}
		p = fl.End
	}
	return nil
}
