// Package stripes counts who is inside of something where several processors would fight
// for the cache line of one counter.
package stripes

import (
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/memory"
)

// Counter counts short uses. Most goroutines have their own stripe. The count of one stripe means
// nothing and may be negative, because a goroutine whose stack moved leaves through another stripe.
// Only the sum counts.
//
// The owner of a counter has a closed flag. To enter, a goroutine adds 1 to Own and then reads the
// flag; if it is set, it subtracts 1 from the same stripe. To leave, it subtracts 1 from Own and
// reads the flag. A goroutine that finds the flag set reads the Sum.
//
// A sum of 0 read after closing proves that no earlier goroutine is still inside, although its
// parts are read one after the other. A goroutine counts before it reads the flag, so everyone
// inside was counted before the flag was set. Afterwards only two things change: a goroutine that
// leaves subtracts 1, and one that came too late adds 1 and subtracts it from the same stripe. So
// each goroutine inside adds 1 to the sum, and nothing makes the sum too small. A sum of 0 is
// noticed, because each change after closing is followed by a read of the sum, and the last
// reader sees all changes.
type Counter [1 << bits]stripe

const bits = 5

// stripe is as long as the cache lines that processors fetch together.
type stripe struct {
	n atomic.Int64
	_ [128 - 8]byte
}

// Own returns the stripe of the calling goroutine, which is chosen by where its stack
// is: the smallest are 2 KiB long and follow each other, and the multiplication
// spreads neighbors evenly.
func (c *Counter) Own() *atomic.Int64 {
	var here [1]byte
	at := uint32(memory.Address(here[:]) >> 11)
	return &c[at*0x9e3779b1>>(32-bits)].n
}

// Sum adds all stripes up.
func (c *Counter) Sum() int64 {
	n := int64(0)
	for i := range c {
		n += c[i].n.Load()
	}
	return n
}
