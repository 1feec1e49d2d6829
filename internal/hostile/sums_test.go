package hostile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
)

var le = binary.LittleEndian

// fixed returns a copy of a file with corrected checksums, where they can be found, so that a mutation
// gets past them.
func fixed(b []byte) []byte {
	b = slices.Clone(b)
	switch {
	case len(b) < 32:
	case bytes.HasPrefix(b, []byte("MAG!")):
		fixMAG(b)
	case bytes.HasPrefix(b, []byte("IBOM")), bytes.HasPrefix(b, []byte("MOBI")):
		le.PutUint32(b[8:], 0)
		le.PutUint32(b[8:], crc32.ChecksumIEEE(b[:32]))
		le.PutUint32(b[len(b)-4:], adler32.Checksum(b[:len(b)-4]))
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		fixZIP(b)
	case bytes.HasPrefix(b, []byte("1AIW")):
		fixWIA(b)
	case len(b) >= 144 && le.Uint32(b[4:]) == 2:
		fixMLE(b)
	}
	return b
}

// span returns the range given by two 64-bit numbers at off, or nil if it is invalid.
func span(b []byte, off int) []byte {
	at, n := le.Uint64(b[off:]), le.Uint64(b[off+8:])
	if at > uint64(len(b)) || n > uint64(len(b))-at {
		return nil
	}
	return b[at : at+n]
}

func fixMLE(b []byte) {
	for i := range 3 {
		le.PutUint32(b[96+4*i:], crc32.ChecksumIEEE(span(b, 16+16*i)))
	}
	le.PutUint32(b[108:], 0)
	n := min(le.Uint32(b[12:]), uint32(len(b)))
	le.PutUint32(b[108:], crc32.ChecksumIEEE(b[:n]))
}

// fixMAG finds the end of the records and corrects their checksum.
func fixMAG(b []byte) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	if end := bytes.Index(b, []byte("BUF!")); end > 20 && le.Uint32(b[4:]) == 100 {
		le.PutUint32(b[16:], crc32.Checksum(b[20:end], castagnoli))
		return
	}
	tensors, entries, at := le.Uint32(b[12:]), le.Uint32(b[16:]), 24
	for ; entries > 0 && at+16 <= len(b); entries-- {
		at += 16 + int(le.Uint32(b[at+12:])&0xFFFF)
	}
	for ; tensors > 0 && at+24 <= len(b); tensors-- {
		head := 20 + 8*int(b[at+1])
		if at+head+4 > len(b) {
			return
		}
		at += head + 4 + int(le.Uint32(b[at+head:])&0xFFFF)
	}
	if at <= len(b) {
		le.PutUint32(b[8:], crc32.Checksum(b[12:at], castagnoli))
	}
}

// fixZIP corrects the checksums of stored entries, in the directory and in the local headers.
func fixZIP(b []byte) {
	for at := 0; ; at += 4 {
		i := bytes.Index(b[at:], []byte("PK\x01\x02"))
		if at += i; i < 0 || at+46 > len(b) {
			return
		}
		local, size := int(le.Uint32(b[at+42:])), int(le.Uint32(b[at+24:]))
		if le.Uint16(b[at+10:]) != 0 || local < 0 || size < 0 || local > len(b)-30 {
			continue
		}
		data := local + 30 + int(le.Uint16(b[local+26:])) + int(le.Uint16(b[local+28:]))
		if data > len(b) || size > len(b)-data {
			continue
		}
		sum := crc32.ChecksumIEEE(b[data : data+size])
		le.PutUint32(b[at+16:], sum)
		le.PutUint32(b[local+14:], sum)
	}
}

// fixWIA corrects the digests in the signature block. It does not forge signatures.
func fixWIA(b []byte) {
	if len(b) < 256 {
		return
	}
	block := span(b, 8+3*16)
	for i, name := range []string{"header", "metadata", "graph", "tensor"} {
		covered := b[:256]
		if i > 0 {
			covered = span(b, 8+16*(i-1))
		}
		entry := append([]byte{0x0A, byte(len(name))}, name...)
		entry = append(entry, 0x12, 32)
		if at := bytes.Index(block, entry); at >= 0 && at+len(entry)+32 <= len(block) {
			sum := sha256.Sum256(covered)
			copy(block[at+len(entry):], sum[:])
		}
	}
}

// TestFixed: correct checksums stay the same, and a change of data with corrected checksums goes
// unnoticed.
func TestFixed(t *testing.T) {
	for _, s := range samples(t) {
		b := s.bytes(0)
		if b == nil || s.trust != nil {
			continue
		}
		if !bytes.Equal(fixed(b), b) {
			t.Errorf("%v: the sums that its writer made are taken for wrong", s)
		}
		if !s.summed || s.key != nil || s.name != "plain" {
			continue
		}
		// A position in the largest tensor.
		at := bytes.LastIndex(b, []byte{0xC0, 0x07, 3, 1})
		if at < 0 {
			t.Errorf("%v: no data found", s)
			continue
		}
		bad := slices.Clone(b)
		bad[at] ^= 1
		for want, b := range map[bool][]byte{true: fixed(bad), false: bad} {
			m, err := format.OpenBytes(b, s.options())
			if err == nil {
				_, err = m.Verify(t.Context())
				m.Close()
			}
			if (err == nil) != want {
				t.Errorf("%v, sums fixed %v: %v", s, want, err)
			}
		}
	}
}
