package tensor

import (
	"math/rand/v2"
	"testing"
)

// sums lists the checksums with the sum of no bytes; the examples show their values.
var sums = []struct {
	name    string
	empty   uint32
	update  func(uint32, []byte) uint32
	combine func(a, b uint32, n int64) uint32
}{
	{"crc32", 0, UpdateCRC32, CombineCRC32}, {"crc32c", 0, UpdateCRC32C, CombineCRC32C}, {"adler32", 1, UpdateAdler32, CombineAdler32},
}

// TestChecksumsOfWholes: CRC32 and Adler32 begin with the right sum.
func TestChecksumsOfWholes(t *testing.T) {
	for _, s := range []string{"", "a", "123456789"} {
		p := []byte(s)
		equal(t, s, [2]uint32{UpdateCRC32(0, p), UpdateAdler32(1, p)}, [2]uint32{CRC32(p), Adler32(p)})
	}
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
				want := s.update(s.empty, p)
				acc, rest := s.empty, p
				upd := s.empty
				for len(rest) > 0 {
					part := rest[:r.IntN(len(rest)+1)]
					if r.IntN(4) == 0 {
						part = rest
					}
					acc = s.combine(acc, s.update(s.empty, part), int64(len(part)))
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
