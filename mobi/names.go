package mobi

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// nameSet finds names that occur twice. Its memory is used again after reset,
// so a file with many operators costs one table as large as the largest needs.
type nameSet struct {
	slots [][]byte
}

var nameSeed = maphash.MakeSeed()

// reset empties the set and makes room for n names.
func (s *nameSet) reset(n int) {
	size := 1 << bits.Len(uint(n+n/2))
	if size > cap(s.slots) {
		s.slots = make([][]byte, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// add reports false when the name, which is not empty, is there already. It
// is kept as it is, not copied.
func (s *nameSet) add(name []byte) bool {
	mask := len(s.slots) - 1
	for i := int(maphash.Bytes(nameSeed, name)) & mask; ; i = (i + 1) & mask {
		if s.slots[i] == nil {
			s.slots[i] = name
			return true
		}
		if bytes.Equal(s.slots[i], name) {
			return false
		}
	}
}
