package tensor

import "encoding/binary"

const (
	adlerMod = 65521 // the largest prime below 2^16
	// adlerGroup is how many bytes are summed in 16-bit lanes between two
	// carries into the long sums: with 16 words the largest lane is 61,200.
	adlerGroup = 128
	// adlerBlock is how many bytes are summed between two divisions. The long
	// sums stay below 2^48 with it.
	adlerBlock = 1 << 20
)

// Adler32 returns the Adler-32 of p as used by zlib (RFC 1950): two sums modulo
// 65521, the lower half of all bytes begun at 1, the upper half of all values
// of the lower one begun at 0. The sum of "123456789" is 0x091E01DE, of no
// bytes 1.
func Adler32(p []byte) uint32 { return UpdateAdler32(1, p) }

// UpdateAdler32 returns the Adler-32 of some bytes followed by p, where sum is
// the sum of those bytes; begin with 1.
func UpdateAdler32(sum uint32, p []byte) uint32 {
	a, b := uint64(sum&0xffff), uint64(sum>>16)
	for len(p) > 0 {
		q := p[:min(len(p), adlerBlock)]
		p = p[len(q):]
		for len(q) >= adlerGroup {
			a, b = adlerSum(a, b, (*[adlerGroup]byte)(q))
			q = q[adlerGroup:]
		}
		for _, x := range q {
			a += uint64(x)
			b += a
		}
		a %= adlerMod
		b %= adlerMod
	}
	return uint32(b<<16 | a)
}

// adlerSum adds a group of bytes to both sums without dividing: eight bytes a
// step, in lanes of 16 bits, which is several times faster than one by one.
func adlerSum(a, b uint64, p *[adlerGroup]byte) (uint64, uint64) {
	const (
		bytes = 0x00ff_00ff_00ff_00ff
		words = 0x0000_ffff_0000_ffff
		ones  = 0x0001_0001_0001_0001
		// Times this, the top lane is 8, 6, 4, 2 times the lanes from the
		// lowest, halved so that it does not overflow.
		weights = 0x0004_0003_0002_0001
	)
	// odd is the sum of the bytes at odd positions of their words, all that and
	// those at even ones; before is the sum of what all was before each word.
	var odd, all, before uint64
	for i := 0; i < adlerGroup; i += 32 {
		q := p[i : i+32 : i+32]
		w := binary.LittleEndian.Uint64(q)
		h := w >> 8 & bytes
		before, odd, all = before+all, odd+h, all+w&bytes+h
		w = binary.LittleEndian.Uint64(q[8:])
		h = w >> 8 & bytes
		before, odd, all = before+all, odd+h, all+w&bytes+h
		w = binary.LittleEndian.Uint64(q[16:])
		h = w >> 8 & bytes
		before, odd, all = before+all, odd+h, all+w&bytes+h
		w = binary.LittleEndian.Uint64(q[24:])
		h = w >> 8 & bytes
		before, odd, all = before+all, odd+h, all+w&bytes+h
	}
	even := all - odd
	before = before&words + before>>16&words
	before = before>>32 + before&0xffff_ffff
	// Byte j of a word counts 8-j times, and 8 times more for each word after.
	b += adlerGroup*a + 8*before
	b += 2*(even*weights>>48+odd*weights>>48) - odd*ones>>48
	a += all * ones >> 48
	return a, b
}

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
