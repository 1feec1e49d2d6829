package vector

import "encoding/binary"

const (
	adlerMod = 65521 // the largest prime below 2^16
	// adlerGroup is how many bytes are summed in 16-bit lanes between two
	// carries into the long sums: with 16 words the largest lane is 61,200.
	adlerGroup = 128
	// adlerStep is what the vector loop takes at a time.
	adlerStep = 64
)

// Adler32 continues the Adler-32 of some bytes with p, where sum is the sum of
// those bytes.
func Adler32(sum uint32, p []byte) uint32 {
	a, b := uint64(sum&0xffff), uint64(sum>>16)
	for len(p) > 0 {
		q := p[:min(len(p), block)]
		p = p[len(q):]
		// Below 2^16 + 2^16*2^16 + 255*2^16*2^16/2 without a division.
		n := len(q) &^ (adlerStep - 1)
		if s, m, ok := adlerVector(q[:n]); ok {
			b += uint64(n)*a + m
			a += s
			q = q[n:]
		}
		a, b = adlerGeneric(a, b, q)
		a %= adlerMod
		b %= adlerMod
	}
	return uint32(b<<16 | a)
}

// adlerGeneric adds up to a block to both sums without dividing.
func adlerGeneric(a, b uint64, p []byte) (uint64, uint64) {
	for len(p) >= adlerGroup {
		a, b = adlerSum(a, b, (*[adlerGroup]byte)(p))
		p = p[adlerGroup:]
	}
	for _, x := range p {
		a += uint64(x)
		b += a
	}
	return a, b
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
