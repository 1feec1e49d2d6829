package corpus

import (
	"encoding/binary"
	"hash/crc32"
)

// LE encodes numbers, slices and arrays of numbers, and strings one after the other, in
// little-endian order.
func LE(values ...any) (b []byte) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			v = []byte(s)
		}
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b
}

// Beginning is a file of any size whose bytes are zero except the first ones.
type Beginning []byte

func (b Beginning) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(b)) {
		copy(p, b[off:])
	}
	return len(p), nil
}

// The functions below pack data without compressing it, byte by byte from RFC 1951, 1952 and 8878:
// the output of a library's compressor may change with its version, but the files of a corpus must
// not.

// Deflate returns data of at most 65,535 bytes as one stored block.
func Deflate(data []byte) []byte {
	n := uint16(len(data))
	b := binary.LittleEndian.AppendUint16([]byte{1}, n)
	return append(binary.LittleEndian.AppendUint16(b, ^n), data...)
}

// Gzip returns data as one member.
func Gzip(data []byte) []byte {
	b := append([]byte{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255}, Deflate(data)...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(b, uint32(len(data)))
}

// Zstd returns data of at most 255 bytes as one frame with a raw block.
func Zstd(data []byte) []byte {
	n := len(data)<<3 | 1
	b := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, byte(len(data)), byte(n), byte(n >> 8), byte(n >> 16)}
	return append(b, data...)
}
