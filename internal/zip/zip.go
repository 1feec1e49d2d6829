// Package zip reads the directory of a ZIP archive and its stored and deflated entries, for formats that map
// them. Redundant values in the archive must agree.
package zip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"github.com/weightmap/weightmap/tensor"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Signatures and fixed sizes of the records of a ZIP archive.
const (
	LocalMagic      = "PK\x03\x04"
	centralMagic    = "PK\x01\x02"
	EndMagic        = "PK\x05\x06"
	end64Magic      = "PK\x06\x06"
	locatorMagic    = "PK\x06\x07"
	descriptorMagic = "PK\x07\x08"

	localLen   = 30
	CentralLen = 46
	endLen     = 22
	locatorLen = 20
	end64Len   = 56

	stored   = 0
	deflated = 8

	flagEncrypted  = 1<<0 | 1<<6 | 1<<13
	flagDescriptor = 1 << 3
	flagPatched    = 1 << 5
	flagUTF8       = 1 << 11

	wide16 = math.MaxUint16 // means that a zip64 field has the value
	wide32 = math.MaxUint32

	extraZip64 = 0x0001
)

// Directory is the position of the central directory.
type Directory struct {
	Off, Size int64
	Count     uint64
}

// FindDirectory reads the records at the end of an archive. They must agree, and fill the
// space between the directory and the end of the file.
func FindDirectory(src driver.Source) (d Directory, err error) {
	at, end, err := findEnd(src)
	if err != nil {
		return d, err
	}
	c := wire.NewCursor("", end[4:], at+4)
	disk, startDisk := uint32(c.U16("disk number")), uint32(c.U16("disk of the directory"))
	here, count := uint64(c.U16("entries on this disk")), uint64(c.U16("entries"))
	size, off := uint64(c.U32("directory size")), uint64(c.U32("directory offset"))
	limit := at
	if w, found, err := findWide(src, at); err != nil {
		return d, err
	} else if found {
		agree := func(field string, narrow *uint64, top, wide uint64) {
			if *narrow != top && *narrow != wide {
				c.Failf(field, w.at, tensor.ErrCorrupt, "%d, the zip64 record says %d", *narrow, wide)
			}
			*narrow = wide
		}
		agree("entries on this disk", &here, wide16, w.here)
		agree("entries", &count, wide16, w.count)
		agree("directory size", &size, wide32, w.size)
		agree("directory offset", &off, wide32, w.off)
		disk, startDisk, limit = disk&^wide16|w.disk, startDisk&^wide16|w.startDisk, w.at
	}
	switch {
	case c.Err() != nil:
	case disk != 0 || startDisk != 0 || here != count:
		c.Failf("disk number", at+4, driver.ErrUnsupported, "the archive spans several disks")
	case off > uint64(limit) || size != uint64(limit)-off:
		c.Failf("directory offset", at+16, tensor.ErrCorrupt, "%d bytes at %d, the directory must end at %d", size, off, limit)
	case count > size/CentralLen:
		c.Failf("entries", at+10, tensor.ErrCorrupt, "%d entries in %d bytes of the directory", count, size)
	}
	return Directory{int64(off), int64(size), count}, c.Err()
}

// findEnd returns the record that ends at the end of the file.
func findEnd(src driver.Source) (at int64, end []byte, err error) {
	size := src.Size()
	behind := false // there is a record, but bytes follow it
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
			if comment := len(tail) - endLen - i; int(binary.LittleEndian.Uint16(tail[i+20:])) == comment {
				return from + int64(i), tail[i : i+endLen], nil
			}
			behind = true
		}
	}
	if behind {
		return 0, nil, wire.Errorf("", "end of central directory", size, tensor.ErrCorrupt, "the length of its comment does not lead to the end of the file")
	}
	return 0, nil, wire.Errorf("", "end of central directory", size, tensor.ErrTruncated, "missing at the end of the file")
}

// wideEnd is the zip64 end record.
type wideEnd struct {
	at                     int64
	disk, startDisk        uint32
	here, count, size, off uint64
}

// findWide reads the zip64 end record if there is a locator before the end record.
func findWide(src driver.Source, end int64) (w wideEnd, found bool, err error) {
	at := end - locatorLen
	if at < end64Len {
		return w, false, nil
	}
	b, err := driver.Private(src, at, locatorLen)
	if err != nil || string(b[:4]) != locatorMagic {
		return w, false, err
	}
	c := wire.NewCursor("", b[4:], at+4)
	if n := c.U32("zip64 locator"); n != 0 {
		c.Failf("zip64 locator", at+4, driver.ErrUnsupported, "the archive spans several disks")
	}
	off := c.U64("zip64 locator")
	if n := c.U32("zip64 locator"); n > 1 {
		c.Failf("zip64 locator", at+16, driver.ErrUnsupported, "the archive spans %d disks", n)
	}
	if c.Err() == nil && off > uint64(at-end64Len) {
		c.Failf("zip64 locator", at+8, tensor.ErrCorrupt, "the record is at %d, where the locator is at %d", off, at)
	}
	if c.Err() != nil {
		return w, false, c.Err()
	}
	w.at = int64(off)
	if b, err = driver.Private(src, w.at, end64Len); err != nil {
		return w, false, err
	}
	c = wire.NewCursor("", b, w.at)
	if m := c.Bytes("zip64 record", 4); string(m) != end64Magic {
		c.Failf("zip64 record", w.at, tensor.ErrCorrupt, "it begins with % x", m)
	}
	if n := c.U64("zip64 record"); n != uint64(at-w.at-12) {
		c.Failf("zip64 record", w.at+4, tensor.ErrCorrupt, "it has %d bytes, %d are before its locator", n, at-w.at-12)
	}
	c.U32("zip64 record") // versions
	w.disk, w.startDisk = c.U32("zip64 record"), c.U32("zip64 record")
	w.here, w.count, w.size, w.off = c.U64("zip64 record"), c.U64("zip64 record"), c.U64("zip64 record"), c.U64("zip64 record")
	return w, true, c.Err()
}

// Member is an entry of the central directory.
type Member struct {
	At           int64 // offset of its record
	Name         []byte
	Flags        uint16
	Method       uint16
	Sum          uint32 // CRC-32 of the content
	Packed, Size uint64
	Local        uint64 // offset of its local header
}

// ReadMember reads the next record of the directory.
func ReadMember(c *wire.Cursor) (m Member, err error) {
	m.At = c.Offset()
	b := c.Bytes("directory", CentralLen)
	if c.Err() != nil {
		return m, c.Err()
	}
	if string(b[:4]) != centralMagic {
		return m, c.Failf("directory", m.At, tensor.ErrCorrupt, "a record begins with % x", b[:4])
	}
	le := binary.LittleEndian
	m.Flags, m.Method, m.Sum = le.Uint16(b[8:]), le.Uint16(b[10:]), le.Uint32(b[16:])
	m.Packed, m.Size, m.Local = uint64(le.Uint32(b[20:])), uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[42:]))
	disk := uint64(le.Uint16(b[34:]))
	m.Name = c.Bytes("file name", uint64(le.Uint16(b[28:])))
	at := c.Offset()
	extra := c.Bytes("extra field", uint64(le.Uint16(b[30:])))
	c.Bytes("comment", uint64(le.Uint16(b[32:])))
	if c.Err() != nil {
		return m, c.Err()
	}
	x, err := findZip64(extra)
	if err == nil {
		err = widen(x, []*uint64{&m.Size, &m.Packed, &m.Local}, &disk)
	}
	switch {
	case err != nil:
		return m, m.Wrap("zip64 field", at, err)
	case disk != 0:
		return m, m.Errorf("disk number", m.At+34, driver.ErrUnsupported, "the archive spans several disks")
	}
	return m, nil
}

// Errorf returns an error about the entry.
func (m *Member) Errorf(field string, at int64, sentinel error, text string, args ...any) error {
	return m.Wrap(field, at, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

func (m *Member) Wrap(field string, at int64, err error) error {
	return wire.Error("", fmt.Sprintf("entry %q: %s", m.Name, field), at, err)
}

// findZip64 returns the zip64 field among extra fields, or nil.
func findZip64(extra []byte) (x []byte, err error) {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return nil, fmt.Errorf("%w: extra field %#x has %d bytes, %d are left", tensor.ErrCorrupt, id, n, len(extra))
		}
		if id == extraZip64 && x != nil {
			return nil, fmt.Errorf("%w: there are two", tensor.ErrCorrupt)
		}
		if id == extraZip64 {
			x = extra[:n:n]
		}
		extra = extra[n:]
	}
	return x, nil
}

// widen replaces fields that have their maximum by the values of a zip64 field x. x has
// values for these fields only, or for all from the first on; then the other values must
// agree with the fields.
func widen(x []byte, fields []*uint64, disk *uint64) error {
	if x == nil {
		return nil
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
		if !whole && *v != wide32 || whole && len(x) < 8 && *v != wide32 {
			continue
		}
		if len(x) < 8 {
			return fmt.Errorf("%w: a value is missing", tensor.ErrCorrupt)
		}
		wide := binary.LittleEndian.Uint64(x)
		if x = x[8:]; *v != wide32 && *v != wide {
			return fmt.Errorf("%w: it says %d, the record %d", tensor.ErrCorrupt, wide, *v)
		}
		*v = wide
	}
	if len(x) == 4 {
		wide := uint64(binary.LittleEndian.Uint32(x))
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

// readLocal reads the local header of an entry from s and compares it with the directory.
// Afterwards s is at the data. end is the end of the entry. Checksums are not compared until
// verification.
func readLocal(s *Stream, h *heads, src driver.Source, m *Member, limit int64, buf *[]byte) (e Entry, end int64, err error) {
	if m.Local > uint64(limit) || uint64(limit)-m.Local < localLen {
		return e, 0, m.Errorf("offset", m.At+42, tensor.ErrCorrupt, "its header is at %d, the directory at %d", m.Local, limit)
	}
	at := int64(m.Local)
	s.seek(h, at, limit)
	b := s.out[:localLen]
	if _, err := io.ReadFull(s.R, b); err != nil {
		return e, 0, err
	}
	le := binary.LittleEndian
	flags, sum, packed, size := le.Uint16(b[6:]), le.Uint32(b[14:]), uint64(le.Uint32(b[18:])), uint64(le.Uint32(b[22:]))
	names, extras := int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
	switch {
	case string(b[:4]) != LocalMagic:
		return e, 0, m.Errorf("local header", at, tensor.ErrCorrupt, "it begins with % x", b[:4])
	case (flags^m.Flags)&(flagEncrypted|flagDescriptor|flagPatched) != 0:
		return e, 0, m.Errorf("local header", at+6, tensor.ErrCorrupt, "its flags are %#x, in the directory %#x", flags, m.Flags)
	case le.Uint16(b[8:]) != m.Method:
		return e, 0, m.Errorf("local header", at+8, tensor.ErrCorrupt, "its method is %d, in the directory %d", le.Uint16(b[8:]), m.Method)
	}
	e.At = at + localLen + int64(names+extras)
	if e.At > limit || m.Packed > uint64(limit-e.At) {
		return e, 0, m.Errorf("sizes", m.At+20, tensor.ErrCorrupt, "%d bytes at %d, the directory is at %d", m.Packed, e.At, limit)
	}
	*buf = slices.Grow((*buf)[:0], names+extras)[:names+extras]
	if _, err := io.ReadFull(s.R, *buf); err != nil {
		return e, 0, err
	}
	if name := (*buf)[:names]; !bytes.Equal(name, m.Name) {
		return e, 0, m.Errorf("local header", at+localLen, tensor.ErrCorrupt, "its name is %q", name)
	}
	x, err := findZip64((*buf)[names:])
	if err == nil {
		err = widen(x, []*uint64{&size, &packed}, new(uint64))
	}
	if err != nil {
		return e, 0, m.Wrap("local zip64 field", at+localLen+int64(names), err)
	}
	end = e.At + int64(m.Packed)
	late := flags&flagDescriptor != 0
	if (size != m.Size || packed != m.Packed) && !(late && size == 0 && packed == 0) {
		return e, 0, m.Errorf("sizes", at+18, tensor.ErrCorrupt, "%d bytes packed into %d, in the directory %d into %d", size, packed, m.Size, m.Packed)
	}
	if late {
		n := int64(0)
		if sum, n, err = readDescriptor(src, m, end, limit); err != nil {
			return e, 0, err
		}
		end += n
	}
	e.Stored, e.Size, e.Packed = int64(m.Packed), int64(m.Size), m.Method == deflated
	e.Sum, e.LocalSum = m.Sum, sum
	return e, end, nil
}

// readDescriptor reads the data descriptor after the data of an entry, in any of its forms.
// Writers use it if they do not know checksum and sizes in advance.
func readDescriptor(src driver.Source, m *Member, at, limit int64) (sum uint32, n int64, err error) {
	b, err := driver.Private(src, at, min(24, limit-at))
	if err != nil {
		return 0, 0, err
	}
	le := binary.LittleEndian
	for _, sign := range []int{len(descriptorMagic), 0} {
		if sign > 0 && !bytes.HasPrefix(b, []byte(descriptorMagic)) {
			continue
		}
		f := b[min(sign, len(b)):]
		if len(f) >= 20 && le.Uint64(f[4:]) == m.Packed && le.Uint64(f[12:]) == m.Size {
			return le.Uint32(f), int64(sign + 20), nil
		}
		if len(f) >= 12 && uint64(le.Uint32(f[4:])) == m.Packed && uint64(le.Uint32(f[8:])) == m.Size {
			return le.Uint32(f), int64(sign + 12), nil
		}
	}
	return 0, 0, m.Errorf("data descriptor", at, tensor.ErrCorrupt, "none with %d bytes packed into %d follows the data", m.Size, m.Packed)
}

// mostRatio is the maximum compression ratio of DEFLATE: 258 bytes in 2 bits.
const mostRatio = 1032

// Usable returns an error for an entry that is encrypted or compressed by a method other than
// DEFLATE, or has impossible sizes.
func (m *Member) Usable() error {
	switch {
	case m.Flags&(flagEncrypted|flagPatched) != 0:
		return m.Errorf("flags", m.At+8, driver.ErrUnsupported, "%#x: it is encrypted or patched", m.Flags)
	case m.Method != stored && m.Method != deflated:
		return m.Errorf("method", m.At+10, driver.ErrUnsupported, "%d, known are 0 (stored) and 8 (deflated)", m.Method)
	case m.Method == stored && m.Size != m.Packed, m.Size/mostRatio > m.Packed:
		return m.Errorf("sizes", m.At+20, tensor.ErrCorrupt, "%d bytes cannot hold %d by method %d", m.Packed, m.Size, m.Method)
	}
	return nil
}

// FirstName returns the name of the entry at the beginning of a file, or the part of it in head.
func FirstName(head []byte) string {
	if len(head) < localLen || string(head[:4]) != LocalMagic {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(head[26:]))
	return string(head[localLen:min(len(head), localLen+n)])
}

// IsEmpty reports whether a file of size bytes that begins with head is an archive without entries.
func IsEmpty(head []byte, size int64) bool {
	return len(head) >= endLen && string(head[:4]) == EndMagic && size == endLen+int64(binary.LittleEndian.Uint16(head[20:]))
}

// IsTorch reports whether name is that of an entry that torch.save writes first, which
// distinguishes its archives from NumPy's.
func IsTorch(name string) bool {
	_, name, ok := strings.Cut(name, "/")
	switch name {
	case "data.pkl", "version", "byteorder", "constants.pkl":
		return ok
	}
	for _, dir := range []string{"data/", ".data/", "code/"} {
		if strings.HasPrefix(name, dir) {
			return ok
		}
	}
	return false
}
