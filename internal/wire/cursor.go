// Package wire reads and writes fixed-width little-endian fields of files.
//
// A Cursor reads a byte slice and checks every access. After the first failure
// all reads return zero values, so that a record can be read field by field and
// checked once. The error names the field and its offset in the file.
package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Cursor is a position in a window of a file. The zero Cursor is empty.
type Cursor struct {
	format string
	buf    []byte
	pos    int
	base   int64 // file offset of buf[0]
	err    error
	head   Head  // reads more of buf; nil if it is complete
	size   int64 // of the file, as far as the Cursor reads it
}

// NewCursor returns a Cursor at the beginning of buf, whose first byte is at offset
// base of a file in the named format.
func NewCursor(format string, buf []byte, base int64) Cursor {
	return Cursor{format: format, buf: buf, base: base, size: base + int64(len(buf))}
}

// HeadCursor returns a Cursor at the beginning of a file of size bytes, which it reads as far as needed. The bytes
// that it returns are valid until it reads more.
func HeadCursor(format string, head Head, size int64) Cursor {
	return Cursor{format: format, head: head, size: size}
}

// Window returns all bytes between two file offsets, which were read before.
func (c *Cursor) Window(from, to int64) []byte { return c.buf[from-c.base : to-c.base : to-c.base] }

// Offset returns the file offset of the next byte.
func (c *Cursor) Offset() int64 { return c.base + int64(c.pos) }

// Left returns the number of unread bytes.
func (c *Cursor) Left() int64 { return c.size - c.Offset() }

// Err returns the first failure, a *tensor.Error.
func (c *Cursor) Err() error { return c.err }

// Fail records a failure at a file offset unless there is one already. An err that names its field keeps its place. Fail returns
// the first failure.
func (c *Cursor) Fail(field string, offset int64, err error) error {
	if c.err != nil {
		return c.err
	}
	placed, ok := err.(*tensor.Error)
	if ok && placed.Field != "" {
		c.stop(placed)
	} else {
		c.stop(Error(c.format, field, offset, err))
	}
	return c.err
}

// stop ends the buffer here, so that no read succeeds any more.
func (c *Cursor) stop(err error) { c.err, c.buf = err, c.buf[:c.pos] }

// Failf is Fail with a sentinel and a text.
func (c *Cursor) Failf(field string, offset int64, sentinel error, format string, args ...any) error {
	if c.err == nil {
		c.stop(Errorf(c.format, field, offset, sentinel, format, args...))
	}
	return c.err
}

// Bytes returns the next n bytes, which alias the buffer. Any n is safe: it fails
// if fewer bytes are left.
func (c *Cursor) Bytes(field string, n uint64) []byte {
	if n > uint64(len(c.buf)-c.pos) && !c.read(field, n) {
		return nil
	}
	at := c.pos
	c.pos += int(n)
	return c.buf[at:c.pos:c.pos]
}

// read makes the next n bytes part of the buffer.
func (c *Cursor) read(field string, n uint64) bool {
	if c.err == nil && n > uint64(c.Left()) {
		c.Failf(field, c.Offset(), tensor.ErrTruncated, "needs %d bytes, %d are left", n, c.Left())
	}
	if c.err != nil {
		return false
	}
	b, err := c.head.Need(c.Offset() + int64(n))
	if err != nil {
		c.Fail(field, c.Offset(), err)
		return false
	}
	c.buf = b
	return true
}

// Count fails unless n records of at least size bytes fit in the rest of the
// buffer. Check counts with it before allocating.
func (c *Cursor) Count(field string, n, size uint64) int {
	if c.err == nil && n > uint64(c.Left())/size {
		c.Failf(field, c.Offset(), tensor.ErrTruncated, "%d records of at least %d bytes, %d bytes are left", n, size, c.Left())
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// U8 reads one byte.
func (c *Cursor) U8(field string) uint8 { return uint8(c.uint(field, 1)) }

// U16 reads two bytes.
func (c *Cursor) U16(field string) uint16 { return uint16(c.uint(field, 2)) }

// U32 reads four bytes.
func (c *Cursor) U32(field string) uint32 {
	if b := c.buf[c.pos:]; len(b) >= 4 {
		c.pos += 4
		return binary.LittleEndian.Uint32(b)
	}
	return uint32(c.uint(field, 4))
}

// U64 reads eight bytes.
func (c *Cursor) U64(field string) uint64 {
	if b := c.buf[c.pos:]; len(b) >= 8 {
		c.pos += 8
		return binary.LittleEndian.Uint64(b)
	}
	return c.uint(field, 8)
}

// uint reads n bytes.
func (c *Cursor) uint(field string, n uint64) (v uint64) {
	for i, b := range c.Bytes(field, n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// I32 reads a two's complement integer of four bytes.
func (c *Cursor) I32(field string) int32 { return int32(c.U32(field)) }

// I64 reads a two's complement integer of eight bytes.
func (c *Cursor) I64(field string) int64 { return int64(c.U64(field)) }

// CheckSize returns ErrLimit for a size that this platform cannot address.
func CheckSize(n int64) error {
	if !memory.Addressable(n) {
		return fmt.Errorf("%w: %d bytes are more than this platform can address", tensor.ErrLimit, n)
	}
	return nil
}
