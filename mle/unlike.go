package mle

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/weightmap/weightmap/internal/wire"
)

// seed keeps files from being made whose names all have one hash.
var seed = maphash.MakeSeed()

var tables wire.Pool[uint32]

// repeated returns the first of n names that another one before it is equal to. A
// graph has fewer than 2^32 of them.
func repeated(n int, name func(i int) []byte) (i int, twice bool) {
	// A slot holds the number of a name, from 1, and above it as much of its hash as there
	// is room for. A third of the slots stay free.
	table := tables.Get()
	defer tables.Put(table)
	size := 1 << bits.Len(uint(n+n/2))
	*table = slices.Grow(*table, size)[:size] // Put clears it
	slots := *table
	mask := uint64(len(slots) - 1)
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
