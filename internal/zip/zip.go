// Package zip reads the directory of a ZIP archive and its stored and deflated entries, for formats
// that map them. Redundant values in the archive must agree.
package zip

import (
	"encoding/binary"
	"math"
	"strings"
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

// FirstName returns the name of the first entry of a file, or the part of it in head. It skips
// directories at the top, which programs that pack a directory write before its files, unless head
// has nothing else.
func FirstName(head []byte) (name string) {
	for len(head) >= localLen && string(head[:4]) == LocalMagic {
		packed := binary.LittleEndian.Uint32(head[18:])
		n := localLen + int(binary.LittleEndian.Uint16(head[26:]))
		name = string(head[localLen:min(len(head), n)])
		if packed != 0 || strings.IndexByte(name, '/') != n-localLen-1 {
			return name
		}
		n += int(binary.LittleEndian.Uint16(head[28:]))
		head = head[min(len(head), n):]
	}
	return name
}

// IsEmpty reports whether a file of size bytes that begins with head is an archive without entries.
func IsEmpty(head []byte, size int64) bool {
	if len(head) < endLen || string(head[:4]) != EndMagic {
		return false
	}
	comment := binary.LittleEndian.Uint16(head[20:])
	return size == endLen+int64(comment)
}

// IsTorch reports whether name is that of an entry that torch.save writes first, which
// distinguishes its archives from NumPy's.
func IsTorch(name string) bool {
	_, name, _ = strings.Cut(name, "/")
	name, _, inside := strings.Cut(name, "/")
	switch name {
	case "data.pkl", "version", "byteorder", "constants.pkl", "bytecode.pkl":
		return !inside
	case "data", ".data", "code":
		return inside
	}
	return false
}
