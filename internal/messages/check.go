package messages

import (
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/tensor"
)

// MaxLevels is the limit on the nesting of messages, including the outermost.
const MaxLevels = 100

// Check checks the encoding of a message of type t and of the messages in it, and counts their
// elements. It is the only place that finds bad encoding in memory: wire types, groups, lengths,
// varints, UTF-8, both fields of a oneof, and nesting. The error is an *Error.
func (s Schema) Check(t Type, text string, counts *Counts) (Message, error) {
	k := checker{s, counts}
	m := Outermost(text)
	err := k.message(t, m, 1+counts.Around, counts.Checked)
	if err != nil {
		return Message{}, err
	}
	return m, nil
}

type checker struct {
	schema Schema
	counts *Counts
}

// message checks a message at a level, but for the fields in the bits of checked. It returns nil or
// an error.
func (k *checker) message(t Type, m Message, level int, checked uint64) *Error {
	d := &k.schema[t]
	set := uint64(0) // fields of the oneof
	c := m.Cursor()
	for {
		fault := c.step()
		if fault == ended {
			return nil
		}
		if fault != fine {
			return c.bad(fault)
		}
		f := d.field(c.Number)
		if f == nil || f.Kind == Ours || checked&(1<<c.Number) != 0 {
			continue
		}
		if err := k.field(f, &c); err != nil {
			return err
		}
		if d.OneOf != 0 {
			set |= 1 << c.Number & d.OneOf
			if set == d.OneOf {
				return BothSet(c.At())
			}
		}
		if f.Kind != Nested {
			continue
		}
		if level == MaxLevels {
			err := Errorf(c.At(), "", tensor.ErrCorrupt, "messages nest deeper than %d levels", MaxLevels)
			err.Skip = int64(c.value - c.at)
			return err
		}
		if err := k.message(f.Of, c.Message(), level+1, 0); err != nil {
			return err
		}
	}
}

// field checks the wire type and the value of a field, and counts its elements.
func (k *checker) field(f *Field, c *Cursor) *Error {
	if !f.admits(c.Wire) {
		return f.badWire(c.At(), c.Wire)
	}
	n := int64(1)
	switch f.Kind {
	case String, Name:
		if !utf8.ValidString(c.Text()) {
			return Errorf(c.At(), "", tensor.ErrCorrupt, "invalid UTF-8")
		}
		if f.Kind == Name && strings.IndexByte(c.Text(), 0) >= 0 {
			return Errorf(c.At(), "", tensor.ErrCorrupt, "name contains a NUL byte")
		}
	case Enum:
		if c.Int() != int64(c.Enum()) {
			return Errorf(c.At(), "", tensor.ErrCorrupt, "enum value %d beyond int32", c.Int())
		}
	case Int, Float, Double:
		if c.Wire != Bytes {
			break
		}
		var p packed
		if !p.add(f.Kind, c.Text()) || !p.finish(f.Kind) {
			return p.error(c.At(), int64(c.base+c.value), f.Kind)
		}
		n = p.values
	}
	if f.Use&Doc != 0 && (f.Kind == String || f.Many) {
		k.counts.HasDocs = true
	}
	if f.Limit == 0 {
		return nil
	}
	return k.counts.Add(f.Limit, n, c.At())
}

// admits reports whether values of the field may have a wire type.
func (f *Field) admits(wire int) bool {
	return wire == f.Kind.Wire() || f.Many && wire == Bytes
}

// packed counts the numbers of a packed field, which may come in pieces.
type packed struct {
	values int64
	size   int64 // of the pieces so far
	open   int   // bytes of an unfinished varint
	fault  fault
}

// add counts the numbers of a piece. It reports whether they are varints, if they should be.
func (p *packed) add(k Kind, s string) bool {
	if k != Int {
		p.size += int64(len(s))
		return true
	}
	for _, b := range []byte(s) {
		p.size++
		p.open++
		if p.open == 10 && b > 1 {
			p.fault = overflow
			return false
		}
		if b < 0x80 {
			p.values++
			p.open = 0
		}
	}
	return true
}

// finish reports whether the field ends with a number.
func (p *packed) finish(k Kind) bool {
	switch k {
	case Int:
		if p.open > 0 {
			p.fault = cutShort
		}
		return p.open == 0
	case Float:
		return p.finishFixed(4)
	}
	return p.finishFixed(8)
}

func (p *packed) finishFixed(width int64) bool {
	p.values = p.size / width
	if p.size%width != 0 {
		p.fault = uneven
		return false
	}
	return true
}

// error returns the error for a field at an offset whose value is at another.
func (p *packed) error(at, value int64, k Kind) *Error {
	if p.fault == uneven {
		width := 8
		if k == Float {
			width = 4
		}
		return Errorf(at, "", tensor.ErrCorrupt,
			"%d bytes are no whole number of values of %d bytes", p.size, width)
	}
	return p.fault.varintError(at, value-at+p.size-int64(p.open))
}
