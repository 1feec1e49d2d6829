package tensor

import (
	"hash/crc32"
	"math/bits"
)

// CRC32 returns the CRC-32 of p as used by gzip, PNG and Ethernet ("IEEE"):
// reflected, polynomial 0x04C11DB7 (reversed 0xEDB88320), initial value and
// final xor 0xFFFFFFFF. The sum of "123456789" is 0xCBF43926, of no bytes 0.
func CRC32(p []byte) uint32 { return crc32.ChecksumIEEE(p) }

// UpdateCRC32 returns the CRC-32 (IEEE) of some bytes followed by p, where crc
// is the sum of those bytes; begin with 0.
func UpdateCRC32(crc uint32, p []byte) uint32 {
	return crc32.Update(crc, crc32.IEEETable, p)
}

// CombineCRC32 returns the CRC-32 (IEEE) of two parts, one after the other,
// from the sum of each and the length in bytes of the second, so that parts
// can be summed apart. It takes time logarithmic in len2 and does not
// allocate. A len2 below 0 counts as 0.
func CombineCRC32(crc1, crc2 uint32, len2 int64) uint32 {
	return ieee.combine(crc1, crc2, len2)
}

// CRC32C returns the CRC-32C of p as used by iSCSI and ext4 ("Castagnoli"):
// reflected, polynomial 0x1EDC6F41 (reversed 0x82F63B78), initial value and
// final xor 0xFFFFFFFF. The sum of "123456789" is 0xE3069283, of no bytes 0.
func CRC32C(p []byte) uint32 { return UpdateCRC32C(0, p) }

// UpdateCRC32C returns the CRC-32C of some bytes followed by p, where crc is
// the sum of those bytes; begin with 0.
func UpdateCRC32C(crc uint32, p []byte) uint32 {
	// MakeTable returns the one table of the standard library for this
	// polynomial, made at the first call.
	return crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), p)
}

// CombineCRC32C is CombineCRC32 for CRC-32C.
func CombineCRC32C(crc1, crc2 uint32, len2 int64) uint32 {
	return castagnoli.combine(crc1, crc2, len2)
}

// crcField is arithmetic on polynomials over GF(2) modulo a CRC's: bit 31 of a
// word is the coefficient of x^0, as in the reflected sum itself.
type crcField struct {
	poly   uint32
	period int        // x^(2^period) = x
	pow    [32]uint32 // x^(2^i)
}

var ieee = crcField{crc32.IEEE, 32, [32]uint32{
	0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092, 0xa06a2517,
	0xed627dae, 0x88d14467, 0xd7bbfe6a, 0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0, 0x09fe548f,
	0x83852d0f, 0x30362f1a, 0x7b5a9cc3, 0x31fec169, 0x9fec022a, 0x6c8dedc4, 0x15d6874d, 0x5fde7a4e,
	0xbad90e37, 0x2e4e5eef, 0x4eaba214, 0xa8a472c0, 0x429a969e, 0x148d302a, 0xc40ba6d0, 0xc4e22c3c,
}}

// The polynomial of Castagnoli is x+1 times a primitive one of degree 31:
// hence the shorter period.
var castagnoli = crcField{crc32.Castagnoli, 31, [32]uint32{
	0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0x82f63b78, 0x6ea2d55c, 0x18b8ea18,
	0x510ac59a, 0xb82be955, 0xb8fdb1e7, 0x88e56f72, 0x74c360a4, 0xe4172b16, 0x0d65762a, 0x35d73a62,
	0x28461564, 0xbf455269, 0xe2ea32dc, 0xfe7740e6, 0xf946610b, 0x3c204f8f, 0x538586e3, 0x59726915,
	0x734d5309, 0xbc1ac763, 0x7d0722cc, 0xd289cabe, 0xe94ca9bc, 0x05b74f3f, 0xa51e1f42, 0x40000000,
}}

// combine shifts crc1 past len2 bytes, a multiplication by x^(8*len2), and adds
// crc2. Initial value and final xor cancel out since both sums have them.
func (f *crcField) combine(crc1, crc2 uint32, len2 int64) uint32 {
	// Bit i of the length stands for 2^(i+3) bits.
	for n := uint64(max(len2, 0)); n != 0; n &= n - 1 {
		i := bits.TrailingZeros64(n) + 3
		crc1 = f.mul(crc1, f.pow[i%f.period])
	}
	return crc1 ^ crc2
}

// mul returns a*b.
func (f *crcField) mul(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ f.poly&-(b&1)
	}
	return p
}
