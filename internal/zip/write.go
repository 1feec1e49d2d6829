package zip

import (
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/wire"
)

// Offsets of the CRC-32 in the headers of an entry.
const (
	LocalSum   = 14
	CentralSum = 16
)

// Made is an uncompressed entry to be written: Size bytes after a header at an offset.
type Made struct {
	Name  string
	Size  int64
	at    int64
	flags uint16
}

// NewMade returns an entry with the given name at an offset.
func NewMade(name string, at int64) *Made {
	m := &Made{Name: name, at: at}
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			m.flags = flagUTF8
		}
	}
	return m
}

// isWide reports whether the sizes do not fit 32 bits.
func (m *Made) isWide() bool { return m.Size >= wide32 }

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

func (m *Made) version() uint16 {
	if m.isWide() || m.at >= wide32 {
		return wideVersion
	}
	return plainVersion
}

// common appends the fields between version and name length, which both headers have.
func (m *Made) common(b *wire.Buffer) {
	b.U16(m.version())
	b.U16(m.flags)
	b.U16(stored)
	b.U16(0) // time
	b.U16(noDate)
	b.U32(0) // CRC-32, patched later
	size := uint32(min(m.Size, wide32))
	b.U32(size)
	b.U32(size)
	b.U16(uint16(len(m.Name)))
}

// LocalHeader returns the header at an offset, padded so that the data after it is aligned.
func (m *Made) LocalHeader(at, alignment int64) []byte {
	var extra wire.Buffer
	if m.isWide() {
		extra.U16(extraZip64)
		extra.U16(16)
		extra.I64(m.Size)
		extra.I64(m.Size)
	}
	const least = 6
	pad := int(-(at + localLen + int64(len(m.Name)+extra.Len())) & (alignment - 1))
	if 0 < pad && pad < least {
		pad += int(alignment)
	}
	if pad > 0 {
		extra.U16(alignField)
		extra.U16(uint16(pad - 4))
		extra.U16(uint16(alignment))
		extra.Fill(pad-least, 0)
	}
	var b wire.Buffer
	b.Str(LocalMagic)
	m.common(&b)
	b.U16(uint16(extra.Len()))
	b.Str(m.Name)
	b.Raw(extra.Bytes())
	return b.Bytes()
}

// CentralHeader appends the record of the directory.
func (m *Made) CentralHeader(b *wire.Buffer) {
	var extra wire.Buffer
	if m.isWide() {
		extra.I64(m.Size)
		extra.I64(m.Size)
	}
	if m.at >= wide32 {
		extra.I64(m.at)
	}
	b.Str(centralMagic)
	b.U16(madeOnUnix | m.version())
	m.common(b)
	if extra.Len() > 0 {
		b.U16(uint16(extra.Len() + 4))
	} else {
		b.U16(0)
	}
	b.U16(0) // comment
	b.U16(0) // disk
	b.U16(0) // internal attributes
	b.U32(fileMode)
	b.U32(uint32(min(m.at, wide32)))
	b.Str(m.Name)
	if extra.Len() > 0 {
		b.U16(extraZip64)
		b.U16(uint16(extra.Len()))
		b.Raw(extra.Bytes())
	}
}

// AppendEnd appends the end records for a directory of n entries and the given size at off.
func AppendEnd(b *wire.Buffer, n int, size, off int64) {
	if n >= wide16 || size >= wide32 || off >= wide32 {
		at := off + int64(b.Len())
		b.Str(end64Magic)
		b.U64(end64Len - 12)
		b.U16(madeOnUnix | wideVersion)
		b.U16(wideVersion)
		b.U32(0) // disks
		b.U32(0)
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
	b.U16(0) // disks
	b.U16(0)
	b.U16(uint16(min(n, wide16)))
	b.U16(uint16(min(n, wide16)))
	b.U32(uint32(min(size, wide32)))
	b.U32(uint32(min(off, wide32)))
	b.U16(0) // comment
}
