package tensor

import (
	"hash/adler32"
	"math/rand/v2"
	"testing"
)

// sums lists the checksums with a second implementation of each.
var sums = []struct {
	name    string
	empty   uint32
	check   uint32 // of "123456789"
	sum     func([]byte) uint32
	update  func(uint32, []byte) uint32
	combine func(a, b uint32, n int64) uint32
	want    func([]byte) uint32
}{
	{"crc32", 0, 0xcbf43926, CRC32, UpdateCRC32, CombineCRC32,
		func(p []byte) uint32 { return slowCRC(0xedb88320, p) }},
	{"crc32c", 0, 0xe3069283, func(p []byte) uint32 { return UpdateCRC32C(0, p) }, UpdateCRC32C, CombineCRC32C,
		func(p []byte) uint32 { return slowCRC(0x82f63b78, p) }},
	{"adler32", 1, 0x091e01de, func(p []byte) uint32 { return UpdateAdler32(1, p) }, UpdateAdler32, CombineAdler32, adler32.Checksum},
}

// slowCRC is the definition, bit by bit.
func slowCRC(poly uint32, p []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range p {
		crc ^= uint32(b)
		for range 8 {
			low := crc & 1
			crc >>= 1
			if low != 0 {
				crc ^= poly
			}
		}
	}
	return ^crc
}

func randBytes(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func TestChecksumCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, s := range sums {
		t.Run(s.name, func(t *testing.T) {
			for range 300 {
				p := randBytes(r, r.IntN(20_000))
				want := s.sum(p)
				acc, rest := s.empty, p
				upd := s.empty
				for len(rest) > 0 {
					part := rest[:r.IntN(len(rest)+1)]
					if r.IntN(4) == 0 {
						part = rest
					}
					acc = s.combine(acc, s.sum(part), int64(len(part)))
					upd = s.update(upd, part)
					rest = rest[len(part):]
				}
				if acc != want || upd != want {
					t.Fatalf("%d bytes: combined %#x, updated %#x, want %#x", len(p), acc, upd, want)
				}
			}
			for _, n := range []int64{0, -1} {
				if got := s.combine(0x12345678, s.empty, n); got != 0x12345678 {
					t.Errorf("combined with a part of length %d = %#x", n, got)
				}
			}
		})
	}
}
