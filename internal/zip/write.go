package zip

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/wire"
)

// Made is an uncompressed entry to be written: Size bytes after a header at offset At.
type Made struct {
	Name     string
	Size, At int64
	Sum      uint32 // CRC-32 of the content
}

// The version of the format that a reader needs, and the date of all entries. The date is
// 1980-01-01, as in NumPy, so that the same tensors give the same bytes.
const (
	plainVersion = 20
	wideVersion  = 45
	madeOnUnix   = 3 << 8
	noDate       = 0x21
	fileMode     = 0o100644 << 16
	alignField   = 0xd935 // an extra field of alignment and zeros, as Android's zipalign writes
)

// LocalHeader returns the header, padded so that the data after it is aligned.
func (m *Made) LocalHeader(alignment int64) []byte {
	extra := m.zip64(false)
	const least = 6
	pad := int(-(m.At + localLen + int64(len(m.Name)+len(extra))) & (alignment - 1))
	if 0 < pad && pad < least {
		pad += int(alignment)
	}
	if pad > 0 {
		extra.U16(alignField)
		extra.U16(uint16(pad - 4))
		extra.U16(uint16(alignment))
		extra.Zeros(pad - least)
	}
	var b wire.Buffer
	b.Str(LocalMagic)
	m.header(&b, extra, false)
	return b
}

// PutSum puts another Sum into a local header.
func (m *Made) PutSum(local []byte) { binary.LittleEndian.PutUint32(local[14:], m.Sum) }

// version returns the version of the format that a reader needs.
func (m *Made) version() uint16 {
	if max(m.Size, m.At) >= wide32 {
		return wideVersion
	}
	return plainVersion
}

// header appends what follows the magic in both headers, and the fields that only the directory
// has.
func (m *Made) header(b *wire.Buffer, extra wire.Buffer, central bool) {
	size := uint32(min(m.Size, wide32))
	flags := uint16(0)
	if strings.IndexFunc(m.Name, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		flags = flagUTF8
	}
	b.U16(m.version())
	b.U16(flags)
	b.U16(stored)
	b.U16(0) // time
	b.U16(noDate)
	b.U32(m.Sum)
	b.U32(size)
	b.U32(size)
	b.U16(uint16(len(m.Name)))
	b.U16(uint16(len(extra)))
	if central {
		b.Zeros(6) // comment, disk, internal attributes
		b.U32(fileMode)
		b.U32(uint32(min(m.At, wide32)))
	}
	b.Str(m.Name)
	b.Raw(extra)
}

// zip64 returns the zip64 field, which is empty if 32 bits suffice. Only that of the directory has
// the offset.
func (m *Made) zip64(central bool) (b wire.Buffer) {
	var values wire.Buffer
	if m.Size >= wide32 {
		values.I64(m.Size)
		values.I64(m.Size)
	}
	if central && m.At >= wide32 {
		values.I64(m.At)
	}
	if len(values) == 0 {
		return nil
	}
	b.U16(extraZip64)
	b.U16(uint16(len(values)))
	b.Raw(values)
	return b
}

// Directory returns the directory of entries at off, which ends the archive.
func Directory(entries []Made, off int64) []byte {
	var b wire.Buffer
	for i := range entries {
		m := &entries[i]
		b.Str(centralMagic)
		b.U16(madeOnUnix | m.version())
		m.header(&b, m.zip64(true), true)
	}
	n := len(entries)
	size := int64(len(b))
	if n >= wide16 || size >= wide32 || off >= wide32 {
		at := off + size
		b.Str(end64Magic)
		b.U64(end64Len - 12)
		b.U16(madeOnUnix | wideVersion)
		b.U16(wideVersion)
		b.Zeros(8) // disks
		b.U64(uint64(n))
		b.U64(uint64(n))
		b.I64(size)
		b.I64(off)
		b.Str(locatorMagic)
		b.U32(0)
		b.I64(at)
		b.U32(1)
	}
	b.Str(EndMagic)
	b.Zeros(4) // disks
	b.U16(uint16(min(n, wide16)))
	b.U16(uint16(min(n, wide16)))
	b.U32(uint32(min(size, wide32)))
	b.U32(uint32(min(off, wide32)))
	b.U16(0) // comment
	return b
}
