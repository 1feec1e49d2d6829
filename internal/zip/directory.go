package zip

import (
	"bytes"
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
func (a *Archive) find() {
	at, end := a.findEnd()
	limit, wide := a.findWide(at)
	disks := le.Uint32(end[4:])
	values := [...]uint64{uint64(le.Uint16(end[8:])), uint64(le.Uint16(end[10:])), uint64(le.Uint32(end[12:])), uint64(le.Uint32(end[16:]))}
	if wide != nil {
		disks = le.Uint32(wide[16:]) | le.Uint32(wide[20:])
		for i, field := range [...]string{"entries on this disk", "entries", "directory size", "directory offset"} {
			v, most := le.Uint64(wide[24+8*i:]), [...]uint64{wide16, wide16, wide32, wide32}[i]
			if values[i] != most && values[i] != v {
				a.fail(wire.Errorf("", field, limit, tensor.ErrCorrupt, "%d, the zip64 record says %d", values[i], v))
			}
			values[i] = v
		}
	}
	here, count, size, off := values[0], values[1], values[2], values[3]
	switch {
	case disks != 0 || here != count:
		a.fail(wire.Errorf("", "disk number", at+4, tensor.ErrUnsupported, severalDisks))
	case off > uint64(limit) || size != uint64(limit)-off:
		a.fail(wire.Errorf("", "directory offset", at+16, tensor.ErrCorrupt, "%d bytes at %d, the directory must end at %d", size, off, limit))
	case count > size/CentralLen:
		a.fail(wire.Errorf("", "entries", at+10, tensor.ErrCorrupt, "%d entries in %d bytes of the directory", count, size))
	case count > uint64(driver.MaxTensors):
		a.fail(wire.Errorf("", "entries", int64(off), tensor.ErrLimit, "%d entries, at most %d are allowed", count, driver.MaxTensors))
	case size > driver.MaxStructure:
		a.fail(wire.Errorf("", "directory", int64(off), tensor.ErrLimit, "it has %d bytes, at most %d are allowed", size, driver.MaxStructure))
	}
	a.Off, a.Size, a.Count = int64(off), int64(size), int(count)
}

const severalDisks = "the archive spans several disks"

// findEnd returns the record that ends at the end of the file.
func (a *Archive) findEnd() (at int64, end []byte) {
	size := a.file.Src.Size()
	missing := fmt.Errorf("%w: missing at the end of the file", tensor.ErrTruncated)
	for _, most := range []int64{0, math.MaxUint16} {
		from := max(0, size-endLen-most)
		tail := a.bytes(a.heads.Bytes, from, size-from)
		for i := len(tail) - endLen; i >= 0; i-- {
			if string(tail[i:i+4]) != EndMagic {
				continue
			}
			if comment := len(tail) - endLen - i; int(le.Uint16(tail[i+20:])) == comment {
				return from + int64(i), bytes.Clone(tail[i : i+endLen])
			}
			missing = fmt.Errorf("%w: the length of its comment does not lead to the end of the file", tensor.ErrCorrupt)
		}
	}
	a.fail(wire.Error("", "end of central directory", size, missing))
	return 0, make([]byte, endLen)
}

// findWide returns the zip64 end record, or nil if there is no locator before the end record, and the first of
// the records at the end.
func (a *Archive) findWide(end int64) (first int64, b []byte) {
	at := end - locatorLen
	if at < end64Len {
		return end, nil
	}
	b = a.bytes(a.heads.Bytes, at, locatorLen)
	if string(b[:4]) != locatorMagic {
		return end, nil
	}
	field := "zip64 locator"
	from := le.Uint64(b[8:])
	switch {
	case le.Uint32(b[4:]) != 0:
		a.fail(wire.Errorf("", field, at+4, tensor.ErrUnsupported, severalDisks))
	case le.Uint32(b[16:]) > 1:
		a.fail(wire.Errorf("", field, at+16, tensor.ErrUnsupported, severalDisks))
	case from > uint64(at-end64Len):
		a.fail(wire.Errorf("", field, at+8, tensor.ErrCorrupt, "the record is at %d, where the locator is at %d", from, at))
	}
	first = int64(from)
	b = a.bytes(a.heads.Bytes, first, end64Len)
	field = "zip64 record"
	switch {
	case string(b[:4]) != end64Magic:
		a.fail(wire.Errorf("", field, first, tensor.ErrCorrupt, "it begins with % x", b[:4]))
	case le.Uint64(b[4:]) != uint64(at-first-12):
		a.fail(wire.Errorf("", field, first+4, tensor.ErrCorrupt, "it has %d bytes, %d are before its locator", le.Uint64(b[4:]), at-first-12))
	}
	return first, b
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

// Wrap returns err, if any, with a field of the entry.
func (m *Member) Wrap(field string, at int64, err error) error {
	if err == nil {
		return nil
	}
	return wire.Error("", fmt.Sprintf("entry %q: %s", m.Name, field), at, err)
}

// next reads the next record of the directory.
func (a *Archive) next() {
	c, m := &a.dir, &a.entry
	*m = Member{Record: c.Offset()}
	m.File = a.file
	b := c.Bytes("directory", CentralLen)
	if b == nil {
		b = make([]byte, CentralLen)
	}
	if string(b[:4]) != centralMagic {
		c.Failf("directory", m.Record, tensor.ErrCorrupt, "a record begins with % x", b[:4])
	}
	m.fields = fieldsOf(b[8:])
	m.head = uint64(le.Uint32(b[42:]))
	disk := uint64(le.Uint16(b[34:]))
	m.Name = c.Bytes("file name", uint64(m.name))
	at := c.Offset()
	extra := c.Bytes("extra field", uint64(m.extra))
	c.Bytes("comment", uint64(le.Uint16(b[32:])))
	a.fail(c.Err())
	a.fail(m.Wrap("zip64 field", at, widen(extra, []*uint64{&m.size, &m.packed, &m.head}, &disk)))
	if disk != 0 {
		a.failf("disk number", m.Record+34, tensor.ErrUnsupported, severalDisks)
	}
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
		return m.Errorf("flags", m.Record+8, tensor.ErrUnsupported, "%#x: it is encrypted or patched", m.flags)
	case m.method != stored && m.method != deflated:
		return m.Errorf("method", m.Record+10, tensor.ErrUnsupported, "%d, known are 0 (stored) and 8 (deflated)", m.method)
	case m.method == stored && m.size != m.packed, m.size/mostRatio > m.packed:
		return m.Errorf("sizes", m.Record+20, tensor.ErrCorrupt, "%d bytes cannot hold %d by method %d", m.packed, m.size, m.method)
	}
	return nil
}
