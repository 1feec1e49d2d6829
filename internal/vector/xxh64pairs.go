package vector

import "github.com/cespare/xxhash/v2"

// xxhPairStep is what the loop over two sums takes of each at a time.
const xxhPairStep = 64

// PairsXXH64 reports whether XXH64Each is faster than XXH64 of one after the other.
func PairsXXH64() bool { return havePairs }

// XXH64Each sets sums to the XXH64 of each of parts, of which it sums two at a time: a
// round of one sum has to wait for the round before, and those of two need not
// wait for each other. It tells step of every piece of part i that was summed, of n bytes,
// and ends with the error of that. The pieces of two parts come by turns.
func XXH64Each(sums []uint64, parts [][]byte, step func(i, n int) error) error {
	var pair [2]xxhPart
	var lanes [2][4]uint64
	for next := 0; ; {
		for k := range pair {
			if !pair[k].busy && next < len(parts) {
				pair[k] = xxhPart{busy: true, i: next, size: len(parts[next]), rest: parts[next]}
				lanes[k] = xxhEmpty.lanes()
				next++
			}
		}
		a, b := &pair[0], &pair[1]
		if a.busy && b.busy && havePairs {
			if n := min(len(a.rest), len(b.rest), block) &^ (xxhPairStep - 1); n > 0 {
				xxhPair(&lanes, a.rest[:n], b.rest[:n])
				a.rest, b.rest = a.rest[n:], b.rest[n:]
				if err := step(a.i, n); err != nil {
					return err
				}
				if err := step(b.i, n); err != nil {
					return err
				}
				continue
			}
		}
		k := 0
		if !a.busy || b.busy && len(b.rest) < len(a.rest) {
			k = 1
		}
		p := &pair[k]
		if !p.busy {
			return nil
		}
		sum, err := p.finish(lanes[k], step)
		if err != nil {
			return err
		}
		sums[p.i], p.busy = sum, false
	}
}

// xxhPart is a part that is being summed.
type xxhPart struct {
	busy    bool
	i, size int
	rest    []byte // what was not summed
}

// finish sums the rest of a part, alone.
func (p *xxhPart) finish(lanes [4]uint64, step func(i, n int) error) (uint64, error) {
	var d xxhash.Digest
	s := xxhEmpty
	s.set(lanes, uint64(p.size-len(p.rest)))
	_ = d.UnmarshalBinary(s[:])
	for {
		q := p.rest[:min(len(p.rest), block)]
		p.rest = p.rest[len(q):]
		WriteXXH64(&d, q)
		if err := step(p.i, len(q)); err != nil || len(p.rest) == 0 {
			return d.Sum64(), err
		}
	}
}
