// Package messages reads and writes protocol buffers in their encoded form. The messages of a file
// are copied into memory, checked once against a Schema, and stay encoded: a Cursor loops over the
// fields of a message, and a copy writes other bytes where something changed.
//
// Check is the only place that finds bad encoding in memory. An Error has an offset, which
// Schema.Path turns into a name such as "node[3].attribute[1].t.dims". A Scan reads messages in a
// file whose values are not copied, and checks what it reads.
package messages

import (
	"encoding/binary"
	"math"
	"slices"
)

// The wire types of fields. Groups (3 and 4) are refused.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
)

const maxNumber = 1<<29 - 1 // of a field

// Message is an encoded message that Check has accepted. It shares the memory of the message around
// it. The zero Message is empty.
type Message struct {
	text string
	at   int // offset of text in the outermost message
}

// Outermost returns the outermost message, which Check must have accepted.
func Outermost(text string) Message { return Message{text: text} }

// Text returns the encoded message.
func (m Message) Text() string { return m.text }

// At returns the offset of the message in the outermost one, behind its tag and length.
func (m Message) At() int64 { return int64(m.at) }

// Cursor returns a Cursor before the first field.
func (m Message) Cursor() Cursor { return Cursor{text: m.text, base: m.at} }

// Cursor loops over the fields of a message:
//
//	for f := m.Cursor(); f.Next(); {
//		switch f.Number { ... }
//	}
//
// It stops at bad encoding, which a checked message does not have.
type Cursor struct {
	Number int // of the current field
	Wire   int // its wire type

	text  string // the message
	base  int    // offset of text in the outermost message
	at    int    // of the tag
	value int    // of the value; of bytes, behind the length
	end   int    // of the field
	bits  uint64 // a varint, fixed32 or fixed64
}

// Next advances to the next field.
func (c *Cursor) Next() bool { return c.step() == fine }

// step advances to the next field, and returns what is wrong with it. Nearly all fields of a model
// have a tag of one byte and a value or length of one byte.
func (c *Cursor) step() fault {
	p := c.end
	if p+1 < len(c.text) {
		tag := c.text[p]
		v := c.text[p+1]
		if tag >= 1<<3 && tag < 0x80 && v < 0x80 {
			switch tag & 7 {
			case Bytes:
				if end := p + 2 + int(v); end <= len(c.text) {
					c.Number = int(tag >> 3)
					c.Wire = Bytes
					c.at = p
					c.value = p + 2
					c.end = end
					return fine
				}
			case Varint:
				c.Number = int(tag >> 3)
				c.Wire = Varint
				c.at = p
				c.value = p + 1
				c.end = p + 2
				c.bits = uint64(v)
				return fine
			}
		}
	}
	return c.slow(p)
}

// slow is step for any field.
func (c *Cursor) slow(p int) fault {
	c.at = p
	if p >= len(c.text) {
		c.Number = 0
		return ended
	}
	h := decodeHead(c.text[p:], int64(len(c.text)-p))
	c.Number = h.number
	c.Wire = h.wire
	c.bits = h.bits
	c.value = p + h.value
	if h.fault == fine {
		c.end = p + int(h.size)
	}
	return h.fault
}

// At returns the offset of the field's tag in the outermost message.
func (c *Cursor) At() int64 { return int64(c.base + c.at) }

// ValueAt returns the offset of the field's value in the outermost message.
func (c *Cursor) ValueAt() int64 { return int64(c.base + c.value) }

// Raw returns the encoded field, with tag and length.
func (c *Cursor) Raw() string { return c.text[c.at:c.end] }

// Int returns the value of an integer field.
func (c *Cursor) Int() int64 { return int64(c.bits) }

// Enum returns the value of an int32 or enum field. It is truncated, as protobuf requires.
func (c *Cursor) Enum() int32 { return int32(c.bits) }

// Bits returns the value of a number as it is encoded.
func (c *Cursor) Bits() uint64 { return c.bits }

// Float returns the value of a float field.
func (c *Cursor) Float() float32 { return math.Float32frombits(uint32(c.bits)) }

// Text returns the value of a string or bytes field. It is a part of the outermost message.
func (c *Cursor) Text() string { return c.text[c.value:c.end] }

// Message returns the value of a message field.
func (c *Cursor) Message() Message { return Message{c.text[c.value:c.end], c.base + c.value} }

// Ints returns the number of integers in a field, packed or not.
func (c *Cursor) Ints() int {
	if c.Wire != Bytes {
		return 1
	}
	n := 0
	for _, b := range []byte(c.text[c.value:c.end]) {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// grown returns list with room for n more values. It at least doubles a list that is full: append
// would leave four times as much behind.
func grown[T any](list []T, n int) []T {
	if n <= cap(list)-len(list) {
		return list
	}
	return slices.Grow(list, max(n, len(list)))
}

// AppendInts appends the values of an integer field, packed or not, truncated if T is int32.
func AppendInts[T int32 | int64](list []T, c *Cursor) []T {
	if len(c.text[c.value:c.end]) > cap(list)-len(list) {
		list = grown(list, c.Ints())
	}
	if c.Wire != Bytes {
		return append(list, T(c.bits))
	}
	for s := c.Text(); s != ""; {
		v, n := ConsumeVarint(s)
		if n <= 0 {
			break
		}
		list = append(list, T(v))
		s = s[n:]
	}
	return list
}

// Floats returns the number of floats in a field, packed or not.
func (c *Cursor) Floats() int {
	if c.Wire != Bytes {
		return 1
	}
	return (c.end - c.value) / 4
}

// Doubles returns the number of doubles in a field, packed or not.
func (c *Cursor) Doubles() int {
	if c.Wire != Bytes {
		return 1
	}
	return (c.end - c.value) / 8
}

// AppendFloats appends the values of a float field, packed or not.
func AppendFloats(list []float32, c *Cursor) []float32 {
	list = grown(list, c.Floats())
	if c.Wire != Bytes {
		return append(list, c.Float())
	}
	for s := c.Text(); len(s) >= 4; s = s[4:] {
		bits := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
		list = append(list, math.Float32frombits(bits))
	}
	return list
}

// Run returns how many fields with the number of the current one follow each other, itself
// included. It reads them: count a run only when a list is full.
func (c *Cursor) Run() int {
	n := 1
	for f := *c; f.Next() && f.Number == c.Number; {
		n++
	}
	return n
}

// fault is what is wrong with a field.
type fault uint8

const (
	fine      fault = iota
	ended           // there is no field
	cutShort        // a varint ends with the message
	overflow        // a varint has more than 64 bits
	badNumber       // of the field
	badWire         // type
	tooLong         // the value extends past the end of the message
	uneven          // a packed field is no whole number of values
)

// head is a field without its bytes.
type head struct {
	number, wire int    // 0 if the tag is bad
	bits         uint64 // a varint, fixed32 or fixed64; the length of bytes
	value        int    // offset of the value; of bytes, behind the length; of what is bad
	size         int64  // of the whole field
	fault        fault
}

const mostHead = 20 // bytes that decodeHead looks at

// decodeHead decodes the field at the beginning of s, of a message that ends after left bytes. s
// has at least the first 20 of them.
func decodeHead(s string, left int64) (h head) {
	tag, n := ConsumeVarint(s)
	if n <= 0 {
		h.fault = badVarint(n)
		return h
	}
	if number := tag >> 3; number < 1 || number > maxNumber {
		h.bits = number
		h.fault = badNumber
		return h
	}
	h.number = int(tag >> 3)
	h.wire = int(tag & 7)
	h.value = n
	switch h.wire {
	case Varint, Bytes:
		n := 0
		h.bits, n = ConsumeVarint(s[h.value:])
		if n <= 0 {
			h.fault = badVarint(n)
			return h
		}
		h.size = int64(h.value + n)
		if h.wire == Varint {
			return h
		}
		h.value += n
		if h.bits > uint64(left-h.size) {
			h.fault = tooLong
			return h
		}
		h.size += int64(h.bits)
	case Fixed32:
		h.fixed(s, left, 4)
	case Fixed64:
		h.fixed(s, left, 8)
	default:
		h.fault = badWire
	}
	return h
}

// fixed decodes a value of size bytes.
func (h *head) fixed(s string, left, size int64) {
	h.size = int64(h.value) + size
	if h.size > left {
		h.bits = uint64(size)
		h.fault = tooLong
		return
	}
	var b [8]byte
	copy(b[:size], s[h.value:])
	h.bits = binary.LittleEndian.Uint64(b[:])
}

func badVarint(n int) fault {
	if n < 0 {
		return overflow
	}
	return cutShort
}

// ConsumeTag decodes the tag at the beginning of s and returns its length, which is not above 0 if
// the tag is bad.
func ConsumeTag(s string) (number, wire, n int) {
	tag, n := ConsumeVarint(s)
	if tag>>3 < 1 || tag>>3 > maxNumber { // a bad varint is 0
		return 0, 0, min(n, 0)
	}
	return int(tag >> 3), int(tag & 7), n
}

// ConsumeVarint decodes the varint at the beginning of s and returns its length: 0 if s ends within
// it, and -1 if it has more than 64 bits.
func ConsumeVarint(s string) (v uint64, n int) {
	for i := range min(len(s), binary.MaxVarintLen64) {
		b := s[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			return 0, -1
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
