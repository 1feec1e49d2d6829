package messages

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/tensor"
)

// Error is an error in a message. Its place is an offset, which Schema.Path turns into a name.
type Error struct {
	At    int64  // offset of the field in the outermost message
	Skip  int64  // from there to what is bad in it
	Whole bool   // the error is about the outermost message
	Field string // of the message in the field, which may lack it; "" for the field
	Short bool   // the message ends within the field
	Err   error
}

// OfMessage is the offset of an error about a message whose place the caller knows: see MessageAt.
const OfMessage = -1

// MessageAt gives an error about a message the offset of the field with the message.
func MessageAt(err error, at int64) error {
	e, ok := err.(*Error)
	if ok && e.At == OfMessage {
		e.At = at
	}
	return err
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error with its sentinel.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a sentinel about a field of the message at an offset, or about the
// field at the offset if field is "".
func Errorf(at int64, field string, sentinel error, text string, args ...any) *Error {
	err := fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...))
	return &Error{At: at, Field: field, Err: err}
}

// BothSet returns the error for a oneof with two values.
func BothSet(at int64) *Error {
	return Errorf(at, "", tensor.ErrCorrupt, "both arms of the oneof are set")
}

// bad returns the error for the field that step stopped at.
func (c *Cursor) bad(f fault) *Error {
	h := head{number: c.Number, wire: c.Wire, bits: c.bits, value: c.value - c.at, fault: f}
	return h.error(c.At(), int64(len(c.text)-c.at))
}

// error returns the error for a field at an offset, of a message that ends after left bytes.
func (h *head) error(at, left int64) *Error {
	switch h.fault {
	case cutShort, overflow:
		return h.fault.varintError(at, int64(h.value))
	case badNumber:
		return Errorf(at, "", tensor.ErrCorrupt, "field number %d", h.bits)
	case badWire:
		return Errorf(at, "", tensor.ErrCorrupt,
			"field %d: wire type %d is not allowed", h.number, h.wire)
	}
	err := Errorf(at, "", tensor.ErrCorrupt, "field %d has %d bytes, %d are left in the message",
		h.number, h.bits, left-int64(h.value))
	err.Short = true
	return err
}

// varintError returns the error for a varint in the field at an offset.
func (f fault) varintError(at, skip int64) *Error {
	err := Errorf(at, "", tensor.ErrCorrupt, "bad varint: unexpected EOF")
	if f == overflow {
		err = Errorf(at, "", tensor.ErrCorrupt, "bad varint: it has more than 64 bits")
	}
	err.Skip = skip
	err.Short = f == cutShort
	return err
}

// badWire returns the error for a field of another wire type.
func (f *Field) badWire(at int64, wire int) *Error {
	return Errorf(at, "", tensor.ErrCorrupt, "wire type %d instead of %d", wire, f.Kind.Wire())
}

// Lowest returns the error at the lowest offset, the first of equal ones and of those that have
// none, or nil.
func Lowest(errs ...error) (out error) {
	least := int64(math.MaxInt64)
	for _, err := range errs {
		offset := int64(-1)
		switch e := err.(type) {
		case nil:
			continue
		case *tensor.Error:
			offset = e.Offset
		case *Placed:
			offset = e.At
		}
		if offset < least {
			out = err
			least = offset
		}
	}
	return out
}

// Path names the field of an error in a message of type t, which need not be valid:
// "node[3].attribute[1].t.dims". Unknown fields have no name.
func (s Schema) Path(t Type, text string, e *Error) string {
	if e.Whole {
		return e.Field
	}
	path := ""
	m := Outermost(text)
	for {
		c, ok := m.find(e.At)
		f := s[t].field(c.Number)
		if !ok || f == nil {
			break
		}
		path = Join(path, f.path(c.index(m)))
		if f.Kind != Nested || c.Wire != Bytes || e.At == c.At() || c.end < c.value {
			break
		}
		m = c.Message()
		t = f.Of
	}
	return Join(path, e.Field)
}

// find returns a cursor at the field that has an offset, or at the first that is bad.
func (m Message) find(at int64) (Cursor, bool) {
	c := m.Cursor()
	for {
		fault := c.step()
		if fault != fine {
			c.end = 0
			return c, c.Number > 0
		}
		if at < int64(c.base+c.end) {
			return c, true
		}
	}
}

// index returns how many fields of a message with the number of c precede it.
func (c *Cursor) index(m Message) int {
	n := 0
	for f := m.Cursor(); f.Next() && f.at < c.at; {
		if f.Number == c.Number {
			n++
		}
	}
	return n
}

// path returns the name of the field, with an index if it is one of several messages or strings.
func (f *Field) path(index int) string {
	if !f.isIndexed() {
		return f.Name
	}
	return fmt.Sprintf("%s[%d]", f.Name, index)
}

func (f *Field) isIndexed() bool { return f.Many && !f.Kind.isNumber() }
