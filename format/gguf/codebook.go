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

// bookOf describes a codebook: n groups of size numbers of an alphabet.
type bookOf struct {
	n, size  int
	alphabet []int8
}

// books are the codebooks in the order of codebooks.bin.
var books = [...]bookOf{
	iq2xxs: {256, 8, []int8{8, 25, 43}},
	iq2xs:  {512, 8, []int8{8, 25, 43}},
	iq2s:   {1024, 8, []int8{8, 25, 43}},
	iq3xxs: {256, 4, []int8{4, 12, 20, 28, 36, 44, 52, 62}},
	iq3s:   {512, 4, []int8{1, 3, 5, 7, 9, 11, 13, 15}},
	iq1s:   {2048, 8, []int8{-1, 0, 1}},
}

const (
	iq2xxs = iota
	iq2xs
	iq2s
	iq3xxs
	iq3s
	iq1s
)

// book returns a codebook as numbers, group by group.
func book(which int) []float32 { return unpackedBooks[which]() }

var unpackedBooks = func() (all [len(books)]func() []float32) {
	at := 0
	for i := range books {
		b := &books[i]
		packed := packedBooks[at : at+2*b.n]
		all[i] = sync.OnceValue(func() []float32 { return b.unpack(packed) })
		at += 2 * b.n
	}
	return all
}()

func (b *bookOf) unpack(packed []byte) []float32 {
	width := bits.Len(uint(len(b.alphabet) - 1))
	out := make([]float32, 0, b.n*b.size)
	for ; len(packed) > 0; packed = packed[2:] {
		digits := binary.LittleEndian.Uint16(packed)
		for range b.size {
			out = append(out, float32(b.alphabet[digits&(1<<width-1)]))
			digits >>= width
		}
	}
	return out
}

// signsOf returns the sign byte of 7 bits: the eighth makes the number of set bits even.
func signsOf(b uint32) byte {
	b &= 127
	return byte(b | uint32(bits.OnesCount32(b)&1)<<7)
}

// signed returns x, or -x where bit j of a sign byte is set.
func signed(x float32, signs byte, j int) float32 {
	if signs>>j&1 != 0 {
		return -x
	}
	return x
}
