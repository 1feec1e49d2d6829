package source

import (
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/memory"
)

// stripes count short uses where several processors would fight for the cache line
// of one counter. Each goroutine has a stripe of its own, more or less. What a
// stripe counts means nothing, and may be negative: a goroutine whose stack
// moved leaves in another than it entered. Only the sum counts.
//
// A sum of 0 that was read after the region was closed proves that nobody is inside who
// came before, although its parts are read one after the other. Enter counts before it
// looks whether the region is closed, so that whoever is inside was counted before that,
// and every part of the sum has it. Later only two things change: a Leave takes 1 off,
// anywhere, which the sum has missed or not; and an Enter that came too late adds 1 and takes
// it off the same stripe, of which the sum has both, the first, or none. So what is
// inside adds 1 to the sum, and nothing makes it less than it is. Nor does a
// sum of 0 go unnoticed, because whoever changes a stripe of a closed region looks at
// the sum afterwards, and the last one sees all changes.
type stripes [1 << stripeBits]stripe

const stripeBits = 5

// stripe is as long as the cache lines that processors fetch together.
type stripe struct {
	n atomic.Int64
	_ [128 - 8]byte
}

// own returns the stripe of the calling goroutine, which is chosen by where its stack
// is: the smallest are 2 KiB long and follow each other, and the multiplication
// spreads neighbors evenly.
func (p *stripes) own() *atomic.Int64 {
	var here [1]byte
	at := uint32(memory.Address(here[:]) >> 11)
	return &p[at*0x9e3779b1>>(32-stripeBits)].n
}

// countInside returns how many are inside of a closed region, or came too late and
// did not take that back yet.
func (r *Region) countInside() int64 {
	n := int64(int32(r.state.Load()))
	if p := r.stripes.Load(); p != nil {
		for i := range p {
			n += p[i].n.Load()
		}
	}
	if n < 0 {
		panic(unentered)
	}
	return n
}
