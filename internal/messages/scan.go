package messages

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Section is a message in a section of a file, or in memory. Scan reads it without the values that
// are not structure. Offsets are relative to the section.
type Section struct {
	Base int64 // offset of the section in the file
	Size int64

	file *wire.Window // nil for memory
	text string       // what was read last
	at   int64        // offset of text
}

// OpenSection returns size bytes at offset base of a file. It must be closed.
func OpenSection(file wire.File, base, size int64) *Section {
	return &Section{Base: base, Size: size, file: wire.Open(file)}
}

// SectionOf returns a section in memory.
func SectionOf(text string) *Section { return &Section{Size: int64(len(text)), text: text} }

// Close releases the window.
func (s *Section) Close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
		s.text = ""
	}
}

// Text returns n bytes at an offset, which must be in the section: more if more were read. It is
// valid until the next call.
func (s *Section) Text(at, n int64) (string, error) {
	i := at - s.at
	if i >= 0 && i+n <= int64(len(s.text)) {
		return s.text[i:], nil
	}
	b, err := s.file.Piece(s.Base+at, n)
	if err != nil {
		return "", err
	}
	b = b[:min(int64(len(b)), s.Size-at)]
	s.text = memory.String(b)
	s.at = at
	return s.text, nil
}

// piece is how much of a large range is read at once.
const piece = 32 << 10

// Append appends the bytes from..to of the section.
func (s *Section) Append(b []byte, from, to int64) ([]byte, error) {
	for from < to {
		n := min(to-from, piece)
		text, err := s.Text(from, n)
		if err != nil {
			return b, err
		}
		text = text[:min(int64(len(text)), to-from)]
		b = append(b, text...)
		from += int64(len(text))
	}
	return b, nil
}

// Scan loops over the fields of a message in a Section. It checks tags and lengths, and in Admits,
// Inner and Values what is not copied. It names the field of an error itself:
//
//	for s.Next() {
//		switch s.Number { ... }
//	}
//	return s.Err()
type Scan struct {
	Number, Wire   int
	At, Value, End int64  // of the field, of its value, and of what follows
	Bits           uint64 // a number, or the length of bytes

	section *Section
	schema  Schema
	def     *Def
	around  *Scan  // at the field of the message, nil for the outermost
	name    string // of the outermost
	end     int64  // of the message
	count   [32]int32
	err     error
}

// Scan returns a loop over the fields of the section, which is a message of a type. Errors have its
// name, which may be "".
func (s *Section) Scan(schema Schema, t Type, name string) Scan {
	return Scan{section: s, schema: schema, def: &schema[t], name: name, end: s.Size}
}

// Inner returns a loop over the fields of the message in the current field, over none if that is
// not a message.
func (s *Scan) Inner(t Type) Scan {
	if !s.Admits() {
		return Scan{}
	}
	return Scan{
		section: s.section, schema: s.schema, def: &s.schema[t],
		around: s, End: s.Value, end: s.End,
	}
}

// Next advances to the next field.
func (s *Scan) Next() bool {
	if s.err != nil || s.End >= s.end {
		return false
	}
	if n := uint(s.Number); n < uint(len(s.count)) {
		s.count[n]++
	}
	s.At = s.End
	return s.small() || s.any()
}

// Admits reports whether the field is unknown or has a wire type of its kind. If not, the loop ends
// with an error.
func (s *Scan) Admits() bool {
	f := s.def.field(s.Number)
	if f == nil || f.Kind == Ours || f.admits(s.Wire) {
		return true
	}
	s.Fail(f.badWire(s.At, s.Wire))
	return false
}

// small decodes a field of bytes or a varint whose tag, and length or value, have one byte each and
// have been read. It returns false for others.
func (s *Scan) small() bool {
	i := s.At - s.section.at
	if i < 0 || i+1 >= int64(len(s.section.text)) || s.At+1 >= s.end {
		return false
	}
	tag := s.section.text[i]
	v := s.section.text[i+1]
	if tag < 1<<3 || tag >= 0x80 || v >= 0x80 {
		return false
	}
	switch tag & 7 {
	case Bytes:
		if s.At+2+int64(v) > s.end {
			return false
		}
		s.Value = s.At + 2
		s.End = s.Value + int64(v)
	case Varint:
		s.Value = s.At + 1
		s.End = s.At + 2
	default:
		return false
	}
	s.Number = int(tag >> 3)
	s.Wire = int(tag & 7)
	s.Bits = uint64(v)
	return true
}

// any decodes any field.
func (s *Scan) any() bool {
	left := s.end - s.At
	text, err := s.section.Text(s.At, min(left, mostHead))
	if err != nil {
		s.Stop(err)
		return false
	}
	h := decodeHead(text[:min(int64(len(text)), left)], left)
	s.Number = h.number
	s.Wire = h.wire
	s.Bits = h.bits
	s.Value = s.At + int64(h.value)
	s.End = s.At + h.size
	if h.fault != fine {
		s.Fail(h.error(s.At, left))
		return false
	}
	return true
}

// Err returns the error that ended the loop.
func (s *Scan) Err() error { return s.err }

// Stop ends the loop with an error that has its place, unless it is nil.
func (s *Scan) Stop(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Fail ends the loop with an error about the current field.
func (s *Scan) Fail(err *Error) {
	name := Join(s.Name(), err.Field)
	s.Stop(&Placed{Field: name, At: err.At + err.Skip, Short: err.Short, Err: err.Err})
}

// Name returns the path of the current field, that of the message if the field is unknown.
func (s *Scan) Name() string {
	f := s.def.field(s.Number)
	if f == nil {
		return s.outer()
	}
	return Join(s.outer(), f.path(int(s.count[s.Number])))
}

// outer returns the path of the message.
func (s *Scan) outer() string {
	if s.around == nil {
		return s.name
	}
	return s.around.Name()
}

// Join joins the parts of a path, either of which may be "".
func Join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// Text returns the value of a field that is structure.
func (s *Scan) Text() (string, error) {
	n := s.End - s.Value
	if n > driver.MaxStructure {
		s.Fail(Errorf(s.Value, "", tensor.ErrLimit,
			"%d bytes that are not data, the limit is %d", n, int64(driver.MaxStructure)))
		return "", s.err
	}
	text, err := s.section.Text(s.Value, n)
	if err != nil {
		s.Stop(err)
		return "", err
	}
	return text[:n], nil
}

// Values returns how many numbers the current field has, which may be packed. It reads the field
// in pieces.
func (s *Scan) Values() int64 {
	f := s.def.field(s.Number)
	if !s.Admits() || s.Wire != Bytes || f == nil || !f.Kind.isNumber() {
		return 1
	}
	var p packed
	ok := true
	if f.Kind != Int {
		p.size = s.End - s.Value
	}
	for at := s.Value; f.Kind == Int && at < s.End && ok; {
		text, err := s.section.Text(at, min(s.End-at, piece))
		if err != nil {
			s.Stop(err)
			return 0
		}
		text = text[:min(int64(len(text)), s.End-at)]
		ok = p.add(f.Kind, text)
		at += int64(len(text))
	}
	if !ok || !p.finish(f.Kind) {
		s.Fail(p.error(s.At, s.Value, f.Kind))
	}
	return p.values
}

// Placed is an error with the name of its field.
type Placed struct {
	Field string
	At    int64 // offset in the section
	Short bool  // the message ends within a field
	Err   error
}

// Error implements error.
func (p *Placed) Error() string { return p.Field + ": " + p.Err.Error() }

// Unwrap returns the error with its sentinel.
func (p *Placed) Unwrap() error { return p.Err }
