package tensor

import (
	"hash/crc32"

	"github.com/weightmap/weightmap/internal/vector"
)

// CRC32 returns the CRC-32 of p as used by gzip, PNG and Ethernet ("IEEE"):
// reflected, polynomial 0x04C11DB7 (reversed 0xEDB88320), initial value and
// final xor 0xFFFFFFFF. The CRC-32 of "123456789" is 0xCBF43926; that of no bytes is 0.
func CRC32(p []byte) uint32 { return crc32.ChecksumIEEE(p) }

// UpdateCRC32 adds the bytes of p to crc, a CRC-32 (IEEE), and returns the result. The
// initial crc is 0.
func UpdateCRC32(crc uint32, p []byte) uint32 {
	return crc32.Update(crc, crc32.IEEETable, p)
}

// CombineCRC32 returns the CRC-32 (IEEE) of the concatenation of two parts, given the
// checksum of each and the length of the second in bytes, so that parts can be checksummed
// in parallel. It takes time logarithmic in len2 and does not allocate. A negative len2
// counts as 0.
func CombineCRC32(crc1, crc2 uint32, len2 int64) uint32 {
	return combineCRC(crc32.IEEE, crc1, crc2, len2)
}

// UpdateCRC32C adds the bytes of p to crc, a CRC-32C, and returns the result. The initial crc
// is 0. CRC-32C, as used by iSCSI and ext4 ("Castagnoli"), is reflected, with polynomial
// 0x1EDC6F41 (reversed 0x82F63B78), initial value and final xor 0xFFFFFFFF. The CRC-32C of
// "123456789" is 0xE3069283.
func UpdateCRC32C(crc uint32, p []byte) uint32 {
	// MakeTable returns a shared table for this polynomial.
	return crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), p)
}

// CombineCRC32C is CombineCRC32 for CRC-32C.
func CombineCRC32C(crc1, crc2 uint32, len2 int64) uint32 {
	return combineCRC(crc32.Castagnoli, crc1, crc2, len2)
}

// combineCRC shifts crc1 past len2 bytes, a multiplication by x^(8*len2), and adds
// crc2. Initial value and final xor cancel out since both checksums have them.
// Bit 31 of a word is the coefficient of x^0, as in the reflected checksum itself.
func combineCRC(poly, crc1, crc2 uint32, len2 int64) uint32 {
	power := uint32(1 << (31 - 8)) // x^8, and its squares
	for n := max(len2, 0); n > 0; n >>= 1 {
		if n&1 != 0 {
			crc1 = multiply(poly, crc1, power)
		}
		power = multiply(poly, power, power)
	}
	return crc1 ^ crc2
}

// multiply returns a*b modulo poly, polynomials over GF(2).
func multiply(poly, a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ poly&-(b&1)
	}
	return p
}

const adlerMod = 65521 // the largest prime below 2^16

// Adler32 returns the Adler-32 of p as used by zlib (RFC 1950): two sums modulo 65521. The lower
// half sums the bytes, starting at 1; the upper half sums the values of the lower half, starting
// at 0. The Adler-32 of "123456789" is 0x091E01DE; that of no bytes is 1.
func Adler32(p []byte) uint32 { return vector.Adler32(1, p) }

// UpdateAdler32 adds the bytes of p to sum, an Adler-32 checksum, and returns the result.
// The initial sum is 1.
func UpdateAdler32(sum uint32, p []byte) uint32 { return vector.Adler32(sum, p) }

// CombineAdler32 returns the Adler-32 of the concatenation of two parts, given the checksum
// of each and the length of the second in bytes. It takes constant time. A negative len2
// counts as 0.
func CombineAdler32(sum1, sum2 uint32, len2 int64) uint32 {
	n := uint64(max(len2, 0)) % adlerMod
	a1 := uint64(sum1 & 0xffff)
	b1 := uint64(sum1 >> 16)
	a2 := uint64(sum2 & 0xffff)
	b2 := uint64(sum2 >> 16)
	// sum2 started at 1 instead of a1: correct for it once in a and n times in b.
	a := (a1 + a2 + adlerMod - 1) % adlerMod
	b := (b1 + b2 + n*(a1+adlerMod-1)) % adlerMod
	return uint32(b<<16 | a)
}
