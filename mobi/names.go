package mobi

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// nextName reads a name of n bytes that must not be empty.
func nextName(c *wire.Cursor, field string, n uint64) []byte {
	at := c.Offset()
	b := c.Bytes(field, n)
	if c.Err() == nil && len(b) == 0 {
		c.Failf(field, at, format.ErrCorrupt, "is empty")
	}
	checkText(c, field, at, b)
	return b
}

// checkText fails for a name that is not UTF-8 or contains a NUL byte.
func checkText(c *wire.Cursor, field string, at int64, b []byte) {
	if bytes.IndexByte(b, 0) >= 0 {
		c.Failf(field, at, format.ErrCorrupt, "contains a NUL byte")
	} else if !utf8.Valid(b) {
		c.Failf(field, at, format.ErrCorrupt, "is not valid UTF-8")
	}
}

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
