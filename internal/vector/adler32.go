package vector

const (
	adlerMod = 65521 // the largest prime below 2^16
	// adlerStep is the number of bytes in a step of the vector loop.
	adlerStep = 64
)

// Adler32 adds the bytes of p to sum, an Adler-32 checksum, and returns the result.
func Adler32(sum uint32, p []byte) uint32 {
	a := uint64(sum & 0xffff)
	b := uint64(sum >> 16)
	for len(p) > 0 {
		q := p[:min(len(p), block)]
		p = p[len(q):]
		// Without a reduction the sum stays below 2^16 + 2^16*2^16 + 255*2^16*2^16/2.
		if haveIntegers {
			n := len(q) &^ (adlerStep - 1)
			s, m := adlerBlock(q[:n])
			b += uint64(n)*a + m
			a += s
			q = q[n:]
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
