package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// MaxLevels is the limit on the nesting of messages, including the outermost.
const MaxLevels = 100

// Defect is an error in a message.
type Defect struct {
	Path  string // completed while the error propagates
	At    int64  // offset in the Source
	Err   error
	Short bool // a field extends past the end of its message
}

func (d *Defect) Error() string { return d.Path + ": " + d.Err.Error() }
func (d *Defect) Unwrap() error { return d.Err }

// Defectf returns a Defect with a sentinel and a message.
func Defectf(at int64, sentinel error, text string, args ...any) error {
	return &Defect{At: at, Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...))}
}

// Corruptf returns a Defect with tensor.ErrCorrupt in a field: "" is the field that a Walk is at.
func Corruptf(field string, at int64, text string, args ...any) error {
	return InField(field, Defectf(at, tensor.ErrCorrupt, text, args...))
}

// InField adds the name of a field to the front of a defect's path.
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

// Source is the input: memory, or a section of a file read through a window.
type Source struct {
	Win    []byte
	lo     int64 // offset of Win[0]
	Size   int64
	Base   int64        // offset of the section in the file
	file   *wire.Window // nil for memory, and after Close
	InFile bool         // it is read through a window

	Tally *Tally // counts what Walk visits; may be nil
	// Watch, if not nil, is called for each message that Check finds, and reports whether it has
	// checked it.
	Watch func(m *Message, msg Field, level int) (done bool, err error)
}

// InMemory returns a source for payload.
func InMemory(payload []byte) *Source { return &Source{Win: payload, Size: int64(len(payload))} }

// OpenFile returns a source for size bytes at offset base of a file. It must be closed.
func OpenFile(src wire.File, base, size int64) *Source {
	return &Source{Size: size, Base: base, InFile: true, file: wire.Open(src)}
}

// Close releases the window. The rest of the Source stays valid.
func (s *Source) Close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
		s.Win = nil
		s.lo = 0
	}
}

// All returns the whole source as one message.
func (s *Source) All() Field { return Field{End: s.Size} }

// Bytes returns the bytes from..to, which must be in range. In a file they are valid until the
// window moves.
func (s *Source) Bytes(from, to int64) ([]byte, error) {
	if i, j := from-s.lo, to-s.lo; i >= 0 && j <= int64(len(s.Win)) {
		return s.Win[i:j:j], nil
	}
	if !s.InFile || to-from > driver.MaxStructure {
		return nil, Defectf(from, tensor.ErrLimit, "%d bytes that are not data, the limit is %d", to-from, int64(driver.MaxStructure))
	}
	win, err := s.file.Piece(s.Base+from, to-from)
	if err != nil {
		return nil, err
	}
	s.Win = win[:min(int64(len(win)), s.Size-from)]
	s.lo = from
	return win[: to-from : to-from], nil
}

// Varint decodes the varint at p, which must end at or before end.
func (s *Source) Varint(p, end int64) (v uint64, next int64, err error) {
	if i := p - s.lo; p < end && i >= 0 && i < int64(len(s.Win)) && s.Win[i] < 0x80 {
		return uint64(s.Win[i]), p + 1, nil
	}
	b, err := s.Bytes(p, min(end, p+10))
	if err != nil {
		return 0, p, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, p, &Defect{At: p, Err: fmt.Errorf("%w: bad varint: %w", tensor.ErrCorrupt, protowire.ParseError(n)), Short: end-p < 10}
	}
	return v, p + int64(n), nil
}

// Field is a field of an encoded message.
type Field struct {
	Num   protowire.Number
	Typ   protowire.Type
	At    int64  // offset of the tag
	Start int64  // offset of the value; of length-delimited fields, after the length
	End   int64  // end of the value
	Val   uint64 // value of a varint, fixed32 or fixed64
	N     int64  // number of values, set by Walk
}

// Next decodes the field at p of a message that ends at end. It refuses groups, reserved wire
// types, field numbers out of range, and lengths past the end of the message. Nearly all fields of
// a model have a tag of one byte and a value or length of one byte, for which Next has a fast path.
func (s *Source) Next(f *Field, p, end int64) error {
	if i := p - s.lo; i >= 0 && i+1 < int64(len(s.Win)) && p+1 < end {
		tag := s.Win[i]
		v := s.Win[i+1]
		if tag >= 1<<3 && tag < 0x80 && v < 0x80 {
			f.Num = protowire.Number(tag >> 3)
			f.Typ = protowire.Type(tag & 7)
			f.At = p
			switch f.Typ {
			case protowire.BytesType:
				f.Start = p + 2
				f.End = p + 2 + int64(v)
				if f.End <= end {
					return nil
				}
			case protowire.VarintType:
				f.Start = p + 1
				f.End = p + 2
				f.Val = uint64(v)
				return nil
			}
		}
	}
	*f = Field{At: p}
	return s.nextAny(f, p, end)
}

// nextAny is Next without the fast path.
func (s *Source) nextAny(f *Field, p, end int64) error {
	tag, p, err := s.Varint(p, end)
	if err != nil {
		return err
	}
	if n := tag >> 3; n < uint64(protowire.MinValidNumber) || n > uint64(protowire.MaxValidNumber) {
		return Corruptf("", f.At, "field number %d", n)
	}
	f.Num = protowire.Number(tag >> 3)
	f.Typ = protowire.Type(tag & 7)
	f.Start = p
	size := uint64(0)
	switch f.Typ {
	case protowire.VarintType:
		f.Val, f.End, err = s.Varint(p, end)
		return err
	case protowire.BytesType:
		size, f.Start, err = s.Varint(p, end)
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	default:
		err = Corruptf("", f.At, "field %d: wire type %d is not allowed", f.Num, f.Typ)
	}
	if err != nil {
		return err
	}
	if left := end - f.Start; size > uint64(left) {
		err = fmt.Errorf("%w: field %d has %d bytes, %d are left in the message", tensor.ErrCorrupt, f.Num, size, left)
		return &Defect{At: f.At, Err: err, Short: true}
	}
	f.End = f.Start + int64(size)
	if f.Typ == protowire.BytesType {
		return nil
	}
	var value [8]byte
	b, err := s.Bytes(f.Start, f.End)
	copy(value[:], b)
	f.Val = binary.LittleEndian.Uint64(value[:])
	return err
}

// BothArms returns the defect of a oneof with two values.
func BothArms(at int64) error {
	return Corruptf("", at, "both arms of the oneof are set")
}
