package gguf

import (
	"encoding/binary"
	"math"
)

// The blocks here follow the layouts that ggml publishes; products are taken in its order,
// so that every value is the reference's bit for bit.

// decodeQ1_0: d, then a sign of each element.
func decodeQ1_0(dst []float32, b []byte) {
	d := half(b)
	for i := range dst {
		dst[i] = signed(-d, b[2+i/8], i%8)
	}
}

// decodeQ2_0: d, then 2-bit elements, 1 meaning 0.
func decodeQ2_0(dst []float32, b []byte) {
	d := half(b)
	for i := range dst {
		dst[i] = float32(int(b[2+i/4]>>(i%4*2)&3)-1) * d
	}
}

// decodeTQ1_0: five base-3 digits a byte, the last 16 elements four; d.
func decodeTQ1_0(dst []float32, b []byte) {
	d := half(b[52:])
	trits := func(q []byte, digits int) {
		power := byte(1)
		for range digits {
			for i, x := range q {
				dst[i] = float32(int(uint16(x*power)*3>>8)-1) * d
			}
			dst = dst[len(q):]
			power *= 3
		}
	}
	trits(b[:32], 5)
	trits(b[32:48], 5)
	trits(b[48:52], 4)
}

// fourBits fills 2n elements from n bytes: low halves, then high ones.
func fourBits(dst []float32, q []byte, values *[16]int8, d float32) {
	high := dst[len(q):]
	for i, x := range q {
		dst[i] = d * float32(values[x&15])
		high[i] = d * float32(values[x>>4])
	}
}

// decodeNVFP4: 4 scales of unsigned e4m3, halves of e2m1 in groups of 16.
func decodeNVFP4(dst []float32, b []byte) {
	for i := range 4 {
		fourBits(dst[16*i:], b[4+8*i:12+8*i], &valuesFP4, scaleE4M3(b[i]))
	}
}

// scaleE4M3 returns half of a number of 4 bits of exponent and 3 of fraction; the top bit is ignored.
func scaleE4M3(x byte) float32 {
	exp, frac := int(x>>3&15), float64(x&7)
	switch {
	case x == 0 || x == 0x7f:
		return 0
	case exp == 0:
		return float32(math.Ldexp(frac, -10))
	}
	return float32(math.Ldexp(8+frac, exp-11))
}

// group fills elements from a group of a codebook, with a scale and signs.
func group(dst, values []float32, scale float32, signs byte) {
	for j, v := range values[:len(dst)] {
		dst[j] = signed(scale*v, signs, j)
	}
}

// decodeIQ2XXS: d, then 8 bytes for each 32 elements: indices, signs, a scale.
func decodeIQ2XXS(dst []float32, b []byte) {
	d, grid := half(b), book(iq2xxs)
	for i := range 8 {
		q := b[2+8*i:]
		high := binary.LittleEndian.Uint32(q[4:])
		scale := d * (0.5 + float32(high>>28)) * 0.25
		for l := range 4 {
			group(dst[32*i+8*l:][:8], grid[8*int(q[l]):], scale, signsOf(high>>(7*l)))
		}
	}
}

// nibbleScale returns a scale of IQ2_XS and IQ2_S: a half of byte i, the second for l of 2 and 3.
func nibbleScale(d float32, scales []byte, i, l int) float32 {
	return d * (0.5 + float32(scales[i]>>(l/2*4)&15)) * 0.25
}

// decodeIQ2XS: d, indices of 9 bits with 7 of signs, scales.
func decodeIQ2XS(dst []float32, b []byte) {
	d, scales, grid := half(b), b[66:74], book(iq2xs)
	for i := range 32 { // groups of 8 elements
		q := uint32(binary.LittleEndian.Uint16(b[2+2*i:]))
		group(dst[8*i:][:8], grid[8*(q&511):], nibbleScale(d, scales, i/4, i%4), signsOf(q>>9))
	}
}

// decodeIQ2S: d, lower bits of indices, signs, upper bits, scales.
func decodeIQ2S(dst []float32, b []byte) {
	d, low, signs, high, scales, grid := half(b), b[2:34], b[34:66], b[66:74], b[74:82], book(iq2s)
	for i := range 32 {
		q := int(low[i]) | int(high[i/4])<<(8-i%4*2)&0x300
		group(dst[8*i:][:8], grid[8*q:], nibbleScale(d, scales, i/4, i%4), signs[i])
	}
}

// decodeIQ3XXS: d, two indices for 8 elements, then signs and a scale for 32.
func decodeIQ3XXS(dst []float32, b []byte) {
	d, q, grid := half(b), b[2:66], book(iq3xxs)
	for i := range 8 {
		high := binary.LittleEndian.Uint32(b[66+4*i:])
		scale := d * (0.5 + float32(high>>28)) * 0.5
		for l := range 8 {
			group(dst[32*i+4*l:][:4], grid[4*int(q[8*i+l]):], scale, signsOf(high>>(7*(l/2)))>>(l%2*4))
		}
	}
}

// decodeIQ3S: d, lower bits of indices, the upper one, signs, scales.
func decodeIQ3S(dst []float32, b []byte) {
	d, low, high, signs, scales, grid := half(b), b[2:66], b[66:74], b[74:106], b[106:110], book(iq3s)
	for i := range 64 { // groups of 4 elements
		q := int(low[i]) | int(high[i/8]>>(i%8)&1)<<8
		scale := d * float32(1+2*int(scales[i/16]>>(i/8%2*4)&15))
		group(dst[4*i:][:4], grid[4*q:], scale, signs[i/2]>>(i%2*4))
	}
}

// shifted fills 8 elements with a scale times numbers of a codebook to which delta is added.
func shifted(dst, values []float32, scale, delta float32) {
	for j, v := range values[:8] {
		dst[j] = scale * (v + delta)
	}
}

// deltaOf is what IQ1 types add, by a bit.
func deltaOf(minus bool) float32 {
	if minus {
		return -0.125
	}
	return 0.125
}

// decodeIQ1S: d, lower bits of indices, then 2 bytes for each 32 elements: upper bits, a scale, a sign.
func decodeIQ1S(dst []float32, b []byte) {
	d, low, grid := half(b), b[2:34], book(iq1s)
	for i := range 8 {
		high := binary.LittleEndian.Uint16(b[34+2*i:])
		scale, delta := d*float32(2*(high>>12&7)+1), deltaOf(high>>15 != 0)
		for l := range 4 {
			q := int(low[4*i+l]) | int(high>>(3*l)&7)<<8
			shifted(dst[32*i+8*l:], grid[8*q:], scale, delta)
		}
	}
}

// decodeIQ1M: lower bits of indices, halves with upper bits and a sign, scales of 3 bits
// whose upper halves make d.
func decodeIQ1M(dst []float32, b []byte) {
	low, high, grid := b[:32], b[32:48], book(iq1s)
	var scales [4]uint16
	var d [2]byte
	for i := range scales {
		scales[i] = binary.LittleEndian.Uint16(b[48+2*i:])
		d[i/2] |= byte(scales[i]>>12) << (i % 2 * 4)
	}
	for i := range 32 { // groups of 8 elements
		h := high[i/2] >> (i % 2 * 4)
		scale := half(d[:]) * float32(2*(scales[i/8]>>(i/4%2*6+i/2%2*3)&7)+1)
		shifted(dst[8*i:], grid[8*(int(low[i])|int(h&7)<<8):], scale, deltaOf(h&8 != 0))
	}
}
