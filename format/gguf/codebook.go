package gguf

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
	"sync"
)

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
	alphabetsIQ1   = [2][]float32{{-1 + 0.125, 0 + 0.125, 1 + 0.125}, {-1 - 0.125, 0 - 0.125, 1 - 0.125}}
)

// codebook returns a function that returns n groups, from group first on. Its first call unpacks them.
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
		t[i], t[i+minus] = scale*x, -(scale * x)
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
