package mle

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// seed keeps files from being made whose names all have one hash.
var seed = maphash.MakeSeed()

// repeated returns the first of n names that another one before it is equal to. A
// graph has fewer than 2^32 of them.
func repeated(n int, name func(i int) []byte) (i int, twice bool) {
	// A slot holds the number of a name, from 1, and above it as much of its hash as there
	// is room for. A third of the slots stay free.
	size := bits.Len(uint(n + n/2))
	slots, mask := make([]uint32, 1<<size), uint64(1)<<size-1
	number := uint32(1)<<bits.Len(uint(n)) - 1
	for i := range n {
		s := name(i)
		h := maphash.Bytes(seed, s)
		tag, slot := uint32(h>>32)&^number, h&mask
		for ; slots[slot] != 0; slot = (slot + 1) & mask {
			other := slots[slot]
			if other&^number == tag && bytes.Equal(name(int(other&number)-1), s) {
				return i, true
			}
		}
		slots[slot] = tag | uint32(i+1)
	}
	return 0, false
}
