package gzip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
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

// skipTexts checks the header of a member that has a file name or a comment,
// and returns what follows it; any other src it returns as it is, for the
// library to judge. The library holds these texts to 512 bytes, RFC 1952 does not.
func skipTexts(src []byte) ([]byte, error) {
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
		// Read once: the bytes may be a mapping that changes.
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
	return rest, nil
}

// headed reads a header and then the rest of a member. It is a ByteReader, so
// that the decompressor takes no byte beyond the end.
type headed struct {
	head []byte
	rest interface {
		io.Reader
		io.ByteReader
	}
}

func (h *headed) Read(p []byte) (int, error) {
	if len(h.head) == 0 {
		return h.rest.Read(p)
	}
	n := copy(p, h.head)
	h.head = h.head[n:]
	return n, nil
}

func (h *headed) ReadByte() (byte, error) {
	if len(h.head) == 0 {
		return h.rest.ReadByte()
	}
	b := h.head[0]
	h.head = h.head[1:]
	return b, nil
}

var _ io.ByteReader = (*headed)(nil)
