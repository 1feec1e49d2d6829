// Package stripes implements a counter of concurrent users that avoids contention for one cache
// line.
package stripes

import (
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/memory"
)

// Counter counts short uses. Most goroutines have different stripes. The value of a single stripe
// means nothing and may be negative, since a goroutine whose stack has moved leaves through another
// stripe. Only the sum is meaningful.
//
// The owner of a counter has a closed flag. To enter, a goroutine adds 1 to Own and then reads the
// flag; if it is set, the goroutine subtracts 1 from the same stripe. To leave, it subtracts 1 from
// Own and reads the flag. A goroutine that finds the flag set reads Sum.
//
// A sum of 0 after closing proves that no goroutine is inside, although the stripes are read one
// after another: every goroutine inside added its 1 before the flag was set, and later changes (a
// goroutine leaves, or comes too late and undoes its own 1) cannot make the sum too small. The last
// goroutine to leave sees a sum of 0, since each change after closing is followed by a read of the
// sum.
type Counter [1 << bits]stripe

const bits = 5

// stripe is as large as a pair of cache lines, which processors fetch together.
type stripe struct {
	n atomic.Int64
	_ [128 - 8]byte
}

// Own returns the stripe of the calling goroutine. It depends on the address of the goroutine's
// stack: the smallest stacks are 2 KiB and adjacent, and the multiplication distributes neighbors
// evenly.
func (c *Counter) Own() *atomic.Int64 {
	var here [1]byte
	at := uint32(memory.Address(here[:]) >> 11)
	return &c[at*0x9e3779b1>>(32-bits)].n
}

// Sum returns the sum of all stripes.
func (c *Counter) Sum() int64 {
	n := int64(0)
	for i := range c {
		n += c[i].n.Load()
	}
	return n
}
