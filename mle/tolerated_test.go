package mle

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
)

const flushedNote = "the checksum of the float16 weights takes subnormal halves and -0 for 0, as the reference implementation does"

// tinyHalves are the 18 halves of a model, including subnormals, -0, infinity and a NaN.
var tinyHalves = []uint16{0x3C00, 0x0001, 0x83FF, 0x8000, 0x7C00, 0x7C01, 0, 0x03FF, 0x0400, 0xBC00, 0, 0, 0, 0, 0, 0, 0x3800, 0x8001}

// tinyFloats are the bits of the IEEE values of tinyHalves.
var tinyFloats = []uint32{0x3F800000, 0x33800000, 0xB87FC000, 0x80000000, 0x7F800000, 0x7F802000, 0, 0x387FC000, 0x38800000, 0xBF800000,
	0, 0, 0, 0, 0, 0, 0x3F000000, 0xB3800000}

// sumOf returns the CRC-32 of tinyFloats, with the halves that flush selects as 0.
func sumOf(flush func(half uint16) bool) uint32 {
	var b []byte
	for i, bits := range tinyFloats {
		if flush(tinyHalves[i]) {
			bits = 0
		}
		b = u32(b, bits)
	}
	return crc32.ChecksumIEEE(b)
}

// tinyGolden returns a float16 file with the given checksum, in one piece or in two
// chunks.
func tinyGolden(sum uint32, chunked bool) *gFile {
	var packed []byte
	for _, h := range tinyHalves {
		packed = u16(packed, h)
	}
	g := plainGolden()
	g.flags, g.weights = 1|0x10, packed
	g.comp = compHeader(5, 6, 72, sum, 16)
	if chunked {
		g.flags |= 0x40
		g.comp, g.weights = chunkTable(g.comp, gChunk{0, packed[:32]}, gChunk{64, packed[32:]})
	}
	return g
}

// TestEncryptedHasCompressionSection checks that an encrypted file without compression has
// a compression section of type 0 with the checksum of the plain weights, so that readers
// without support for encryption refuse it.
func TestEncryptedHasCompressionSection(t *testing.T) {
	p := floatPlan()
	plainFile := written(t, p, &WriteOptions{})
	plain := plainFile[le.Uint64(plainFile[48:]):]
	b := written(t, p, &WriteOptions{Key: testKey})
	if got := le.Uint32(b[8:]); got != 3 {
		t.Errorf("flags %#x, want COMPRESSION and ENCRYPTION", got)
	}
	at, size := le.Uint64(b[80:]), le.Uint64(b[88:])
	if diff := cmp.Diff(compHeader(0, 6, uint64(len(plain)), crc32.ChecksumIEEE(plain), 0), b[at:at+size]); diff != "" {
		t.Error(diff)
	}
	stored := b[le.Uint64(b[48:]):][:le.Uint64(b[56:])]
	opened, err := corpus.GCM(testKey).Open(nil, stored[:12], stored[12:], b[:16])
	if diff := cmp.Diff(plain, opened); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// The checksum is that of the decrypted weights.
	b[at+12] ^= 1
	if err := verify(mustOpen(t, b, &format.Options{Key: testKey})); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("another sum: %v, want ErrChecksum", err)
	}
}
