package gguf

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
)

// The blocks here follow the layouts that ggml publishes; products are taken in its order,
// so that every value is the reference's bit for bit.

// decodeQ1_0: d, then a sign of each element.
func decodeQ1_0(dst []float32, b []byte) {
	d := half(b)
	t := products{-d, minus: d}
	for i, x := range b[2:18] {
		t.fill(dst[8*i:], signs[x])
	}
}

// decodeQ2_0: d, then 2-bit elements, 1 meaning 0.
func decodeQ2_0(dst []float32, b []byte) {
	t := lessOne(half(b))
	for i, x := range b[2:18] {
		out := (*[4]float32)(dst[4*i:])
		out[0] = t[x&3]
		out[1] = t[x>>2&3]
		out[2] = t[x>>4&3]
		out[3] = t[x>>6]
	}
}

// lessOne returns the values of 2-bit elements of which 1 means 0.
func lessOne(d float32) (t [4]float32) {
	for q := range t {
		t[q] = float32(q-1) * d
	}
	return t
}

// decodeTQ1_0: five base-3 digits a byte, the last 16 elements four; d.
func decodeTQ1_0(dst []float32, b []byte) {
	t := lessOne(half(b[52:]))
	trits := func(q []byte, digits int) {
		power := byte(1)
		for range digits {
			out := dst[:len(q)]
			for i, x := range q {
				out[i] = t[uint16(x*power)*3>>8&3]
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
		fourBits(dst[16*i:], b[4+8*i:12+8*i], &valuesFP4, scalesE4M3[b[i]])
	}
}

// scalesE4M3 are halves of numbers of 4 bits of exponent and 3 of fraction, whose top bit is
// ignored.
var scalesE4M3 = func() (all [256]float32) {
	for x := range all {
		if x != 0x7f { // a NaN, which stays 0
			all[x] = float32(lowbit.Float(4, 3, 8)(x & 0x7f))
		}
	}
	return all
}()

// decodeIQ2XXS: d, then 8 bytes for each 32 elements: indices, signs, a scale.
func decodeIQ2XXS(dst []float32, b []byte) {
	d := half(b)
	groups := iq2xxs()
	var t products
	for i := range 8 {
		q := b[2+8*i:][:8]
		high := binary.LittleEndian.Uint32(q[4:])
		t.scale(d*(0.5+float32(high>>28))*0.25, alphabetIQ2)
		for l := range 4 {
			t.fill(dst[32*i+8*l:], groups[q[l]]|evenSigns(high>>(7*l)))
		}
	}
}

// nibbleScale returns scale i of IQ2_XS and IQ2_S, of 16 elements.
func nibbleScale(d float32, scales []byte, i int) float32 {
	return d * (0.5 + float32(scales[i/2]>>(i%2*4)&15)) * 0.25
}

// decodeIQ2XS: d, indices of 9 bits with 7 of signs, scales.
func decodeIQ2XS(dst []float32, b []byte) {
	d := half(b)
	scales := b[66:74]
	groups := iq2xs()
	var t products
	for i := range 16 {
		t.scale(nibbleScale(d, scales, i), alphabetIQ2)
		for l := 2 * i; l < 2*i+2; l++ { // groups of 8 elements
			q := uint32(binary.LittleEndian.Uint16(b[2+2*l:]))
			t.fill(dst[8*l:], groups[q&511]|evenSigns(q>>9))
		}
	}
}

// decodeIQ2S: d, lower bits of indices, signs, upper bits, scales.
func decodeIQ2S(dst []float32, b []byte) {
	d := half(b)
	low := b[2:34]
	negative := b[34:66]
	high := b[66:74]
	scales := b[74:82]
	groups := iq2s()
	var t products
	for i := range 16 {
		t.scale(nibbleScale(d, scales, i), alphabetIQ2)
		for l := 2 * i; l < 2*i+2; l++ {
			q := int(low[l]) | int(high[l/4])<<(8-l%4*2)&0x300
			t.fill(dst[8*l:], groups[q]|signs[negative[l]])
		}
	}
}

// decodeIQ3XXS: d, two indices for 8 elements, then signs and a scale for 32.
func decodeIQ3XXS(dst []float32, b []byte) {
	d := half(b)
	q := b[2:66]
	groups := iq3xxs()
	var t products
	for i := range 8 {
		high := binary.LittleEndian.Uint32(b[66+4*i:])
		t.scale(d*(0.5+float32(high>>28))*0.5, alphabetIQ3XXS)
		for l := 4 * i; l < 4*i+4; l++ {
			t.fill(dst[8*l:], groups[q[2*l]]|groups[q[2*l+1]]<<32|evenSigns(high>>(l%4*7)))
		}
	}
}

// decodeIQ3S: d, lower bits of indices, the upper one, signs, scales.
func decodeIQ3S(dst []float32, b []byte) {
	d := half(b)
	low := b[2:66]
	high := b[66:74]
	negative := b[74:106]
	scales := b[106:110]
	groups := iq3s()
	var t products
	for i := range 8 {
		t.scale(d*float32(1+2*int(scales[i/2]>>(i%2*4)&15)), alphabetIQ3S)
		h := int(high[i])
		for l := range 4 {
			at := 4*i + l
			first := int(low[2*at]) | h<<(8-2*l)&256
			second := int(low[2*at+1]) | h<<(7-2*l)&256
			t.fill(dst[8*at:], groups[first]|groups[second]<<32|signs[negative[at]])
		}
	}
}

// decodeIQ1S: d, lower bits of indices, then 2 bytes for each 32 elements: upper bits, a scale, a
// sign.
func decodeIQ1S(dst []float32, b []byte) {
	d := half(b)
	low := b[2:34]
	groups := iq1s()
	var t products
	for i := range 8 {
		high := binary.LittleEndian.Uint16(b[34+2*i:])
		t.scale(d*float32(2*(high>>12&7)+1), alphabetsIQ1[high>>15])
		for l := range 4 {
			t.fill(dst[32*i+8*l:], groups[int(low[4*i+l])|int(high>>(3*l)&7)<<8])
		}
	}
}

// decodeIQ1M: lower bits of indices, halves with upper bits and a sign, scales of 3 bits
// whose upper halves make d.
func decodeIQ1M(dst []float32, b []byte) {
	low := b[:32]
	high := b[32:48]
	packed := binary.LittleEndian.Uint64(b[48:])
	groups := iq1s()
	d16 := packed>>12&0xf | packed>>24&0xf0 | packed>>36&0xf00 | packed>>48&0xf000
	d := tensor.F16(d16).Float32()
	var t products
	for i := range 32 { // groups of 8 elements
		h := high[i/2] >> (i % 2 * 4)
		t.scale(d*float32(2*(packed>>(i/8*16+i/2%4*3)&7)+1), alphabetsIQ1[h>>3&1])
		t.fill(dst[8*i:], groups[int(low[i])|int(h&7)<<8])
	}
}

// The types named IQ1 to IQ3 store indices into codebooks: lists of groups of 4 or 8 small
// numbers that ggml defines. codebooks.bin holds them one after the other, each group as
// a little-endian uint16: the positions of its numbers in the book's alphabet, of 2 or 3
// bits each, the first number lowest.
//
//go:embed codebooks.bin
var packedBooks []byte

// The codebooks in the order of codebooks.bin. In memory each position takes a byte.
var (
	iq2xxs = codebook(0, 256, 2)
	iq2xs  = codebook(256, 512, 2)
	iq2s   = codebook(768, 1024, 2)
	iq3xxs = codebook(1792, 256, 3)
	iq3s   = codebook(2048, 512, 3)
	iq1s   = codebook(2560, 2048, 2)
)

// The alphabets. A bit selects whether IQ1 types add 0.125 to theirs or subtract it.
var (
	alphabetIQ2    = []float32{8, 25, 43}
	alphabetIQ3XXS = []float32{4, 12, 20, 28, 36, 44, 52, 62}
	alphabetIQ3S   = []float32{1, 3, 5, 7, 9, 11, 13, 15}
	alphabetsIQ1   = [2][]float32{
		{-1 + 0.125, 0 + 0.125, 1 + 0.125},
		{-1 - 0.125, 0 - 0.125, 1 - 0.125},
	}
)

// codebook returns a function that returns n groups, from group first on. Its first call unpacks
// them.
func codebook(first, n, width int) func() []uint64 {
	return sync.OnceValue(func() []uint64 {
		groups := make([]uint64, n)
		for i := range groups {
			digits := binary.LittleEndian.Uint16(packedBooks[2*(first+i):])
			for j := range 16 / width {
				groups[i] |= uint64(digits>>(width*j)&(1<<width-1)) << (8 * j)
			}
		}
		return groups
	})
}

// products maps positions in an alphabet to values of elements: the number there times a scale.
// From index minus on it has the negative values.
type products [16]float32

const minus = 8

// scale sets the products of a scale and an alphabet.
func (t *products) scale(scale float32, alphabet []float32) {
	for i, x := range alphabet {
		t[i] = scale * x
		t[i+minus] = -(scale * x)
	}
}

// fill sets eight elements to the products at positions that are a byte each.
func (t *products) fill(dst []float32, at uint64) {
	out := (*[8]float32)(dst)
	out[0] = t[at&15]
	out[1] = t[at>>8&15]
	out[2] = t[at>>16&15]
	out[3] = t[at>>24&15]
	out[4] = t[at>>32&15]
	out[5] = t[at>>40&15]
	out[6] = t[at>>48&15]
	out[7] = t[at>>56&15]
}

// signs maps eight bits to eight bytes, which are minus for set bits.
var signs = func() (all [256]uint64) {
	for b := range all {
		for j := range 8 {
			all[b] |= uint64(b>>j&1*minus) << (8 * j)
		}
	}
	return all
}()

// evenSigns returns the signs for 7 bits: the eighth bit makes the number of set bits even.
func evenSigns(b uint32) uint64 {
	b &= 127
	return signs[b|uint32(bits.OnesCount32(b)&1)<<7]
}
