package mag

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/weightmap/weightmap/format/driver"
)

// keySet finds equal keys among many. Keys are kept as positions, which at turns
// into bytes. The hash is seeded anew in every process, so that no file can make
// all of its keys collide.
type keySet struct {
	slots []uint64 // position + 1; 0 is free
	at    func(pos int) []byte
}

var seed = maphash.MakeSeed()

// newKeySet makes room for n keys; more must not be added.
func newKeySet(n int, at func(pos int) []byte) keySet {
	return keySet{slots: make([]uint64, 1<<bits.Len(uint(n+n/2))), at: at}
}

// add reports false when a key equal to that at pos is there already.
func (s *keySet) add(pos int) bool {
	key := s.at(pos)
	mask := len(s.slots) - 1
	for slot := int(maphash.Bytes(seed, key)) & mask; ; slot = (slot + 1) & mask {
		if s.slots[slot] == 0 {
			s.slots[slot] = uint64(pos) + 1
			return true
		}
		if bytes.Equal(s.at(int(s.slots[slot]-1)), key) {
			return false
		}
	}
}

// checkKey is tensor.CheckName for bytes of a file.
func checkKey(key []byte) error {
	if isPlain(key) {
		return nil
	}
	return driver.CheckName(key)
}

// isPlain reports whether key has at least eight bytes, all of them ASCII and
// none NUL. It is a quarter of the time that opening many tensors takes
// without it.
func isPlain(key []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	if len(key) < 8 {
		return false
	}
	// A byte's top bit is set in w if it is no ASCII, and in w-ones if it is 0.
	w := u64(key, len(key)-8)
	bad := w | (w - ones)
	for i := 0; i+8 < len(key); i += 8 {
		w = u64(key, i)
		bad |= w | (w - ones)
	}
	return bad&tops == 0
}
