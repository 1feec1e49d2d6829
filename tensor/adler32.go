package tensor

import "github.com/weightmap/weightmap/internal/vector"

const adlerMod = 65521 // the largest prime below 2^16

// Adler32 returns the Adler-32 of p as used by zlib (RFC 1950): two sums modulo
// 65521, the lower half of all bytes begun at 1, the upper half of all values
// of the lower one begun at 0. The sum of "123456789" is 0x091E01DE, of no
// bytes 1.
func Adler32(p []byte) uint32 { return UpdateAdler32(1, p) }

// UpdateAdler32 returns the Adler-32 of some bytes followed by p, where sum is
// the sum of those bytes; begin with 1.
func UpdateAdler32(sum uint32, p []byte) uint32 { return vector.Adler32(sum, p) }

// CombineAdler32 returns the Adler-32 of two parts, one after the other, from
// the sum of each and the length in bytes of the second. It takes constant
// time. A len2 below 0 counts as 0.
func CombineAdler32(sum1, sum2 uint32, len2 int64) uint32 {
	n := uint64(max(len2, 0)) % adlerMod
	a1, b1 := uint64(sum1&0xffff), uint64(sum1>>16)
	a2, b2 := uint64(sum2&0xffff), uint64(sum2>>16)
	// The second part began with 1 in place of a1: that is taken back once in
	// a and n times in b.
	a := (a1 + a2 + adlerMod - 1) % adlerMod
	b := (b1 + b2 + n*(a1+adlerMod-1)) % adlerMod
	return uint32(b<<16 | a)
}
