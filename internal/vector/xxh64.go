package vector

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

const (
	// xxhStep is what the vector loop takes at a time.
	xxhStep = 128
	// xxhWorth is from how many bytes on the vector loop makes up for handing the state
	// of a digest over and back.
	xxhWorth = 16 << 10
)

// XXH64 returns the XXH64 of p with seed 0. Its twin is that of package xxhash.
func XXH64(p []byte) uint64 {
	if len(p) < xxhWorth || !haveXXH64 {
		return xxhash.Sum64(p)
	}
	var d xxhash.Digest
	s := xxhEmpty
	p = s.blocks(&d, p)
	d.Write(p)
	return d.Sum64()
}

// WriteXXH64 is d.Write. It allocates little for much.
func WriteXXH64(d *xxhash.Digest, p []byte) {
	if len(p) >= 4*xxhWorth && haveXXH64 {
		s := xxhStateOf(d)
		if part := int(s.total() % 32); part > 0 {
			d.Write(p[:32-part])
			p, s = p[32-part:], xxhStateOf(d)
		}
		p = s.blocks(d, p)
	}
	d.Write(p)
}

// xxhWork is what the vector loop works on.
type xxhWork struct {
	lanes [4]uint64
	_     [xxhStep / 8]uint64 // products, which only the assembly uses
}

// xxhState is the state of a digest as it marshals itself: four bytes of magic, the four lanes
// of the sum, how many bytes were written, and those of them that do not make 32.
type xxhState [4 + 4*8 + 8 + 32]byte

func xxhStateOf(d *xxhash.Digest) xxhState {
	b, _ := d.MarshalBinary() // it does not fail
	return xxhState(b)
}

var xxhEmpty = xxhStateOf(xxhash.New())

func (s *xxhState) total() uint64 { return binary.LittleEndian.Uint64(s[36:]) }

// blocks continues the sum, of a multiple of 32 bytes, with whole steps of p, sets d to that,
// and returns what is left of p.
func (s *xxhState) blocks(d *xxhash.Digest, p []byte) []byte {
	w := xxhWork{lanes: s.lanes()}
	n := len(p) &^ (xxhStep - 1)
	for at := 0; at < n; at += block {
		xxhBlock(&w, p[at:min(at+block, n)])
	}
	s.set(w.lanes, s.total()+uint64(n))
	_ = d.UnmarshalBinary(s[:]) // nor does this, of what a digest marshaled
	return p[n:]
}

func (s *xxhState) lanes() (lanes [4]uint64) {
	for i := range lanes {
		lanes[i] = binary.LittleEndian.Uint64(s[4+8*i:])
	}
	return lanes
}

// set makes s the state after a multiple of 32 bytes.
func (s *xxhState) set(lanes [4]uint64, total uint64) {
	for i, v := range lanes {
		binary.LittleEndian.PutUint64(s[4+8*i:], v)
	}
	binary.LittleEndian.PutUint64(s[36:], total)
}
