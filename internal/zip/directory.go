package zip

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

var le = binary.LittleEndian

// find locates the directory by the records at the end of the archive. They must agree, and fill
// the space between the directory and the end of the file.
func (a *Archive) find() error {
	at, end, err := findEnd(a.src)
	if err != nil {
		return err
	}
	wideAt, wide, err := findWide(a.src, at)
	if err != nil {
		return err
	}
	disks, limit := le.Uint32(end[4:]), at
	values := [...]uint64{uint64(le.Uint16(end[8:])), uint64(le.Uint16(end[10:])), uint64(le.Uint32(end[12:])), uint64(le.Uint32(end[16:]))}
	if wide != nil {
		disks, limit = le.Uint32(wide[16:])|le.Uint32(wide[20:]), wideAt
		for i, field := range [...]string{"entries on this disk", "entries", "directory size", "directory offset"} {
			v, most := le.Uint64(wide[24+8*i:]), [...]uint64{wide16, wide16, wide32, wide32}[i]
			if values[i] != most && values[i] != v {
				return wire.Errorf("", field, wideAt, tensor.ErrCorrupt, "%d, the zip64 record says %d", values[i], v)
			}
			values[i] = v
		}
	}
	here, count, size, off := values[0], values[1], values[2], values[3]
	switch {
	case disks != 0 || here != count:
		return wire.Errorf("", "disk number", at+4, driver.ErrUnsupported, severalDisks)
	case off > uint64(limit) || size != uint64(limit)-off:
		return wire.Errorf("", "directory offset", at+16, tensor.ErrCorrupt, "%d bytes at %d, the directory must end at %d", size, off, limit)
	case count > size/CentralLen:
		return wire.Errorf("", "entries", at+10, tensor.ErrCorrupt, "%d entries in %d bytes of the directory", count, size)
	case count > uint64(driver.MaxTensors):
		return wire.Errorf("", "entries", int64(off), tensor.ErrLimit, "%d entries, at most %d are allowed", count, driver.MaxTensors)
	case size > driver.MaxStructure:
		return wire.Errorf("", "directory", int64(off), tensor.ErrLimit, "it has %d bytes, at most %d are allowed", size, driver.MaxStructure)
	}
	a.Off, a.Size, a.Count = int64(off), int64(size), int(count)
	return nil
}

const severalDisks = "the archive spans several disks"

// findEnd returns the record that ends at the end of the file.
func findEnd(src driver.Source) (at int64, end []byte, err error) {
	size := src.Size()
	missing := fmt.Errorf("%w: missing at the end of the file", tensor.ErrTruncated)
	for _, most := range []int64{0, math.MaxUint16} {
		from := max(0, size-endLen-most)
		tail, err := driver.Private(src, from, size-from)
		if err != nil {
			return 0, nil, err
		}
		for i := len(tail) - endLen; i >= 0; i-- {
			if string(tail[i:i+4]) != EndMagic {
				continue
			}
			if comment := len(tail) - endLen - i; int(le.Uint16(tail[i+20:])) == comment {
				return from + int64(i), tail[i : i+endLen], nil
			}
			missing = fmt.Errorf("%w: the length of its comment does not lead to the end of the file", tensor.ErrCorrupt)
		}
	}
	return 0, nil, wire.Error("", "end of central directory", size, missing)
}

// findWide returns the zip64 end record if there is a locator before the end record, or nil.
func findWide(src driver.Source, end int64) (off int64, b []byte, err error) {
	at := end - locatorLen
	if at < end64Len {
		return 0, nil, nil
	}
	b, err = driver.Private(src, at, locatorLen)
	if err != nil || string(b[:4]) != locatorMagic {
		return 0, nil, err
	}
	field := "zip64 locator"
	from := le.Uint64(b[8:])
	switch {
	case le.Uint32(b[4:]) != 0:
		return 0, nil, wire.Errorf("", field, at+4, driver.ErrUnsupported, severalDisks)
	case le.Uint32(b[16:]) > 1:
		return 0, nil, wire.Errorf("", field, at+16, driver.ErrUnsupported, severalDisks)
	case from > uint64(at-end64Len):
		return 0, nil, wire.Errorf("", field, at+8, tensor.ErrCorrupt, "the record is at %d, where the locator is at %d", from, at)
	}
	off = int64(from)
	if b, err = driver.Private(src, off, end64Len); err != nil {
		return 0, nil, err
	}
	field = "zip64 record"
	switch {
	case string(b[:4]) != end64Magic:
		return 0, nil, wire.Errorf("", field, off, tensor.ErrCorrupt, "it begins with % x", b[:4])
	case le.Uint64(b[4:]) != uint64(at-off-12):
		return 0, nil, wire.Errorf("", field, off+4, tensor.ErrCorrupt, "it has %d bytes, %d are before its locator", le.Uint64(b[4:]), at-off-12)
	}
	return off, b, nil
}

// Member is an entry of the directory.
type Member struct {
	Entry
	Name   []byte
	Record int64 // offset of its record in the directory

	fields
	head uint64 // offset of the local header
}

// fields are those that a record of the directory and a local header have in common.
type fields struct {
	flags, method uint16
	sum           uint32
	packed, size  uint64
	name, extra   int64 // lengths of the name and of the extra fields
}

// fieldsOf reads the fields, of which the flags are the first.
func fieldsOf(b []byte) fields {
	return fields{
		flags: le.Uint16(b), method: le.Uint16(b[2:]), sum: le.Uint32(b[8:]),
		packed: uint64(le.Uint32(b[12:])), size: uint64(le.Uint32(b[16:])),
		name: int64(le.Uint16(b[20:])), extra: int64(le.Uint16(b[22:])),
	}
}

// Errorf returns an error about the entry.
func (m *Member) Errorf(field string, at int64, sentinel error, text string, args ...any) error {
	return m.Wrap(field, at, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

// Wrap returns err with a field of the entry.
func (m *Member) Wrap(field string, at int64, err error) error {
	return wire.Error("", fmt.Sprintf("entry %q: %s", m.Name, field), at, err)
}

// read reads the next record of the directory.
func (m *Member) read(c *wire.Cursor) error {
	*m = Member{Record: c.Offset()}
	b := c.Bytes("directory", CentralLen)
	if b != nil && string(b[:4]) != centralMagic {
		c.Failf("directory", m.Record, tensor.ErrCorrupt, "a record begins with % x", b[:4])
	}
	if c.Err() != nil {
		return c.Err()
	}
	m.fields = fieldsOf(b[8:])
	m.Sum, m.head = m.sum, uint64(le.Uint32(b[42:]))
	disk := uint64(le.Uint16(b[34:]))
	m.Name = c.Bytes("file name", uint64(m.name))
	at := c.Offset()
	extra := c.Bytes("extra field", uint64(m.extra))
	c.Bytes("comment", uint64(le.Uint16(b[32:])))
	if c.Err() != nil {
		return c.Err()
	}
	if err := widen(extra, []*uint64{&m.size, &m.packed, &m.head}, &disk); err != nil {
		return m.Wrap("zip64 field", at, err)
	}
	if disk != 0 {
		return m.Errorf("disk number", m.Record+34, driver.ErrUnsupported, severalDisks)
	}
	return nil
}

// widen replaces fields that have their maximum by the values of the zip64 field among extra
// fields, if any. It has values for these fields only, or for all from the first on; then the other
// values must agree with the fields.
func widen(extra []byte, fields []*uint64, disk *uint64) error {
	x, err := findZip64(extra)
	if x == nil || err != nil {
		return err
	}
	least := 0
	for _, v := range fields {
		if *v == wide32 {
			least += 8
		}
	}
	if *disk == wide16 {
		least += 4
	}
	whole := len(x) != least
	for _, v := range fields {
		if *v != wide32 && (!whole || len(x) < 8) {
			continue
		}
		if len(x) < 8 {
			return fmt.Errorf("%w: a value is missing", tensor.ErrCorrupt)
		}
		wide := le.Uint64(x)
		if x = x[8:]; *v != wide32 && *v != wide {
			return fmt.Errorf("%w: it says %d, the record %d", tensor.ErrCorrupt, wide, *v)
		}
		*v = wide
	}
	if len(x) == 4 {
		wide := uint64(le.Uint32(x))
		if x = nil; *disk != wide16 && *disk != wide {
			return fmt.Errorf("%w: it says disk %d, the record %d", tensor.ErrCorrupt, wide, *disk)
		}
		*disk = wide
	}
	if len(x) > 0 {
		return fmt.Errorf("%w: %d bytes are left in it", tensor.ErrCorrupt, len(x))
	}
	return nil
}

// findZip64 returns the zip64 field among extra fields, or nil.
func findZip64(extra []byte) (x []byte, err error) {
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return nil, fmt.Errorf("%w: extra field %#x has %d bytes, %d are left", tensor.ErrCorrupt, id, n, len(extra))
		}
		if id == extraZip64 {
			if x != nil {
				return nil, fmt.Errorf("%w: there are two", tensor.ErrCorrupt)
			}
			x = extra[:n:n]
		}
		extra = extra[n:]
	}
	return x, nil
}

// mostRatio is the maximum compression ratio of DEFLATE: 258 bytes in 2 bits.
const mostRatio = 1032

// Usable returns an error for an entry that is encrypted or compressed by a method other than
// DEFLATE, or has impossible sizes.
func (m *Member) Usable() error {
	switch {
	case m.flags&(flagEncrypted|flagPatched) != 0:
		return m.Errorf("flags", m.Record+8, driver.ErrUnsupported, "%#x: it is encrypted or patched", m.flags)
	case m.method != stored && m.method != deflated:
		return m.Errorf("method", m.Record+10, driver.ErrUnsupported, "%d, known are 0 (stored) and 8 (deflated)", m.method)
	case m.method == stored && m.size != m.packed, m.size/mostRatio > m.packed:
		return m.Errorf("sizes", m.Record+20, tensor.ErrCorrupt, "%d bytes cannot hold %d by method %d", m.packed, m.size, m.method)
	}
	return nil
}
