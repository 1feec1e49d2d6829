package gzip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// The flags of a gzip header (RFC 1952, section 2.3.1).
const (
	hasHeaderCRC = 1 << 1
	hasExtra     = 1 << 2
	hasName      = 1 << 3
	hasComment   = 1 << 4
	reserved     = 0xE0
)

// plainHeader is a gzip header without optional fields.
var plainHeader = []byte{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF}

var errHeader = errors.New("invalid header")

// withoutTexts validates a header with a file name or a comment, and returns the member with a
// plain header. compress/gzip limits these fields to 512 bytes; RFC 1952 does not. Any other src is
// returned unchanged.
func withoutTexts(src []byte) ([]byte, error) {
	if len(src) < 10 || !bytes.Equal(src[:3], plainHeader[:3]) || src[3]&(hasName|hasComment) == 0 {
		return src, nil
	}
	flags, rest := src[3], src[10:]
	if flags&reserved != 0 {
		return nil, errHeader
	}
	if flags&hasExtra != 0 {
		if len(rest) < 2 {
			return nil, errHeader
		}
		// Read the length only once: src may alias a mapping that changes.
		n := int(binary.LittleEndian.Uint16(rest))
		if rest = rest[2:]; len(rest) < n {
			return nil, errHeader
		}
		rest = rest[n:]
	}
	for _, text := range []byte{hasName, hasComment} {
		if flags&text != 0 {
			end := bytes.IndexByte(rest, 0)
			if end < 0 {
				return nil, errHeader
			}
			rest = rest[end+1:]
		}
	}
	if flags&hasHeaderCRC != 0 {
		sum := crc32.ChecksumIEEE(src[:len(src)-len(rest)])
		if len(rest) < 2 || binary.LittleEndian.Uint16(rest) != uint16(sum) {
			return nil, errHeader
		}
		rest = rest[2:]
	}
	return slices.Concat(plainHeader, rest), nil
}
