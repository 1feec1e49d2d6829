// Package stripes counts who is inside of something where several processors would fight
// for the cache line of one counter.
package stripes

import (
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/memory"
)

// Counter counts short uses. Each goroutine has a stripe of its own, more or less. What
// a stripe counts means nothing, and may be negative: a goroutine whose stack moved
// leaves in another than it entered. Only the sum counts.
//
// Whatever has such a counter has a flag that says that it is closed. To enter is to
// add 1 to Own, then to look at the flag, and to take the 1 off the same stripe if it
// is set; to leave is to take 1 off Own and to look at the flag. Whoever finds it set
// after either looks at the Sum.
//
// A sum of 0 that was read after closing proves that nobody is inside who came before,
// although its parts are read one after the other. Who enters counts before
// looking at the flag, so that whoever is inside was counted before it was set, and
// every part of the sum has it. Later only two things change: who leaves takes 1 off,
// anywhere, which the sum has missed or not; and who came too late adds 1 and takes
// it off the same stripe, of which the sum has both, the first, or none. So what is
// inside adds 1 to the sum, and nothing makes it less than it is. Nor does a
// sum of 0 go unnoticed, because whoever changes a stripe of what is closed looks at
// the sum afterwards, and the last one sees all changes.
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
