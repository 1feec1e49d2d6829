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
	at, b := a.findEnd()
	r := wire.NewRecord("", b, at)
	e := readEnd(&r)
	limit := at // of the directory
	first, wide := a.findWide(at)
	if wide != nil {
		limit = first
		w := readEnd64(wide)
		e.disks = w.disks
		e.here = a.wider("entries on this disk", limit, e.here, wide16, w.here)
		e.count = a.wider("entries", limit, e.count, wide16, w.count)
		e.size = a.wider("directory size", limit, e.size, wide32, w.size)
		e.off = a.wider("directory offset", limit, e.off, wide32, w.off)
	}
	switch {
	case e.disks != 0 || e.here != e.count:
		a.fail(wire.Errorf("", "disk number", r.At("disk number"), tensor.ErrUnsupported, severalDisks))
	case e.off > uint64(limit) || e.size != uint64(limit)-e.off:
		a.fail(wire.Errorf("", "directory offset", r.At("directory offset"), tensor.ErrCorrupt,
			"%d bytes at %d, the directory must end at %d", e.size, e.off, limit))
	case e.count > e.size/CentralLen:
		a.fail(wire.Errorf("", "entries", r.At("entries"), tensor.ErrCorrupt,
			"%d entries in %d bytes of the directory", e.count, e.size))
	case e.count > uint64(driver.MaxTensors):
		a.fail(wire.Errorf("", "entries", int64(e.off), tensor.ErrLimit,
			"%d entries, at most %d are allowed", e.count, driver.MaxTensors))
	case e.size > driver.MaxStructure:
		a.fail(wire.Errorf("", "directory", int64(e.off), tensor.ErrLimit,
			"it has %d bytes, at most %d are allowed", e.size, driver.MaxStructure))
	}
	a.Off = int64(e.off)
	a.Size = int64(e.size)
	a.Count = int(e.count)
}

// end is a record at the end of an archive.
type end struct {
	disks uint32 // the numbers of the disks, 0 if there is one
	here  uint64 // number of entries on this disk
	count uint64 // number of all entries
	size  uint64 // of the directory
	off   uint64
}

// readEnd reads the end record.
func readEnd(r *wire.Record) (e end) {
	r.Skip("signature", 4)
	e.disks = uint32(r.U16("disk number"))
	e.disks |= uint32(r.U16("disk of the directory"))
	e.here = uint64(r.U16("entries on this disk"))
	e.count = uint64(r.U16("entries"))
	e.size = uint64(r.U32("directory size"))
	e.off = uint64(r.U32("directory offset"))
	r.U16("comment length")
	return e
}

// readEnd64 reads the zip64 end record.
func readEnd64(r *wire.Record) (e end) {
	r.Begin()
	r.Skip("signature", 4)
	r.U64("size of the record")
	r.U16("version made by")
	r.U16("version needed")
	e.disks = r.U32("disk number")
	e.disks |= r.U32("disk of the directory")
	e.here = r.U64("entries on this disk")
	e.count = r.U64("entries")
	e.size = r.U64("directory size")
	e.off = r.U64("directory offset")
	return e
}

// wider returns the value that a field has in the zip64 end record, which begins at an offset. The
// field itself must have the same value or the most that it can have.
func (a *Archive) wider(field string, at int64, v, most, wide uint64) uint64 {
	if v != most && v != wide {
		a.fail(wire.Errorf("", field, at, tensor.ErrCorrupt, "%d, the zip64 record says %d", v, wide))
	}
	return wide
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
			comment := int(le.Uint16(tail[i+20:]))
			if i+endLen+comment == len(tail) {
				return from + int64(i), bytes.Clone(tail[i : i+endLen])
			}
			missing = fmt.Errorf("%w: the length of its comment does not lead to the end of the file",
				tensor.ErrCorrupt)
		}
	}
	a.fail(wire.Error("", "end of central directory", size, missing))
	return 0, make([]byte, endLen)
}

// findWide returns the zip64 end record and where it begins, or nil if there is no locator before
// the end record.
func (a *Archive) findWide(end int64) (first int64, r *wire.Record) {
	at := end - locatorLen
	if at < end64Len {
		return 0, nil
	}
	b := a.bytes(a.heads.Bytes, at, locatorLen)
	if string(b[:4]) != locatorMagic {
		return 0, nil
	}
	locator := wire.NewRecord("", b, at)
	locator.Skip("signature", 4)
	disk := locator.U32("disk of the record")
	from := locator.U64("record offset")
	disks := locator.U32("number of disks")
	const field = "zip64 locator"
	switch {
	case disk != 0:
		a.fail(wire.Errorf("", field, locator.At("disk of the record"), tensor.ErrUnsupported,
			severalDisks))
	case disks > 1:
		a.fail(wire.Errorf("", field, locator.At("number of disks"), tensor.ErrUnsupported, severalDisks))
	case from > uint64(at-end64Len):
		a.fail(wire.Errorf("", field, locator.At("record offset"), tensor.ErrCorrupt,
			"the record is at %d, where the locator is at %d", from, at))
	}
	first = int64(from)
	record := wire.NewRecord("", a.bytes(a.heads.Bytes, first, end64Len), first)
	signature := record.Bytes("signature", 4)
	size := record.U64("size of the record")
	rest := at - record.Offset()
	switch {
	case string(signature) != end64Magic:
		a.fail(wire.Errorf("", "zip64 record", first, tensor.ErrCorrupt, "it begins with % x", signature))
	case size != uint64(rest):
		a.fail(wire.Errorf("", "zip64 record", record.At("size of the record"), tensor.ErrCorrupt,
			"it has %d bytes, %d are before its locator", size, rest))
	}
	record.MoveTo(first)
	return first, &record
}

// Member is an entry of the directory.
type Member struct {
	Entry
	Name   []byte
	Record int64 // offset of its record in the directory
	NameAt int64 // offset of the name in it

	dir    *wire.Record // in the directory
	fields fields
	head   uint64 // offset of the local header
}

// fields are those that a record of the directory and a local header have in common.
type fields struct {
	flags, method uint16
	sum           uint32
	packed, size  uint64
	name, extra   int64 // lengths of the name and of the extra fields
}

// readFields reads the fields, of which the flags are the first.
func readFields(r *wire.Record) (f fields) {
	f.flags = r.U16("flags")
	f.method = r.U16("method")
	r.U16("time")
	r.U16("date")
	f.sum = r.U32("crc-32")
	f.packed = uint64(r.U32("packed size"))
	f.size = uint64(r.U32("size"))
	f.name = int64(r.U16("length of the name"))
	f.extra = int64(r.U16("length of the extra fields"))
	return f
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
	r := &a.dir
	m := &a.entry
	*m = Member{Record: r.Offset(), dir: r}
	m.File = a.file
	r.Begin()
	r.Text("directory", centralMagic, tensor.ErrCorrupt)
	r.U16("version made by")
	r.U16("version needed")
	f := &m.fields
	*f = readFields(r)
	comment := r.U16("length of the comment")
	disk := uint64(r.U16("disk number"))
	r.U16("internal attributes")
	r.U32("external attributes")
	m.head = uint64(r.U32("header offset"))
	m.NameAt = r.Offset()
	m.Name = r.Bytes("file name", uint64(f.name))
	extraAt := r.Offset()
	extra := r.Bytes("extra field", uint64(f.extra))
	r.Skip("comment", uint64(comment))
	a.fail(r.Err())
	err := widen(extra, []*uint64{&f.size, &f.packed, &m.head}, &disk)
	a.fail(m.Wrap("zip64 field", extraAt, err))
	if disk != 0 {
		a.bad("disk number", r.At("disk number"), tensor.ErrUnsupported, severalDisks)
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
		if *v != wide32 && *v != wide {
			return fmt.Errorf("%w: it says %d, the record %d", tensor.ErrCorrupt, wide, *v)
		}
		*v = wide
		x = x[8:]
	}
	if len(x) == 4 {
		wide := uint64(le.Uint32(x))
		if *disk != wide16 && *disk != wide {
			return fmt.Errorf("%w: it says disk %d, the record %d", tensor.ErrCorrupt, wide, *disk)
		}
		*disk = wide
		x = nil
	}
	if len(x) > 0 {
		return fmt.Errorf("%w: %d bytes are left in it", tensor.ErrCorrupt, len(x))
	}
	return nil
}

// findZip64 returns the zip64 field among extra fields, or nil.
func findZip64(extra []byte) (x []byte, err error) {
	for len(extra) >= 4 {
		id := le.Uint16(extra)
		n := int(le.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return nil, fmt.Errorf("%w: extra field %#x has %d bytes, %d are left", tensor.ErrCorrupt, id, n,
				len(extra))
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
	f := &m.fields
	switch {
	case f.flags&(flagEncrypted|flagPatched) != 0:
		return m.Errorf("flags", m.dir.At("flags"), tensor.ErrUnsupported,
			"%#x: it is encrypted or patched", f.flags)
	case f.method != stored && f.method != deflated:
		return m.Errorf("method", m.dir.At("method"), tensor.ErrUnsupported,
			"%d, known are 0 (stored) and 8 (deflated)", f.method)
	case f.method == stored && f.size != f.packed, f.size/mostRatio > f.packed:
		return m.Errorf("sizes", m.dir.At("packed size"), tensor.ErrCorrupt,
			"%d bytes cannot hold %d by method %d", f.packed, f.size, f.method)
	}
	return nil
}
