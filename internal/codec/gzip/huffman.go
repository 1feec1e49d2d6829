package gzip

import (
	"math/bits"
	"slices"
)

// entry says what a code stands for.
type entry uint32

const (
	sizeMask entry = 15 // bits of the code

	literal entry = 1 << 4 // a byte: the value
	base    entry = 1 << 5 // a length or a distance: the value, and so many extra bits
	end     entry = 1 << 6 // the end of the block
	link    entry = 1 << 7 // longer codes: indexed by so many extra bits, from the value on

	extraAt, extraMask = 8, 15
	valueAt            = 16
)

// in returns the index of the entry of a longer code, of which these are the other bits.
func (e entry) in(hold uint64) uint64 {
	return uint64(e>>valueAt) + hold&(1<<(e>>extraAt&extraMask)-1)
}

// The alphabets (RFC 1951, section 3.2.5), and how many bits the first look at a code takes.
const (
	litlens, maxLitlens = 288, 286
	dists, maxDists     = 32, 30
	litlenRoot          = 10
	distRoot            = 8
)

// table finds out what a code stands for, by as many bits as root says and, for longer
// ones, the others.
type table struct {
	first  [1 << litlenRoot]entry
	second []entry
	root   uint
	mask   uint64
}

// build makes the table of a code given by the lengths of its symbols. Those without an
// entry that says what they are must not occur.
func (t *table) build(lengths []uint8, of func(symbol int) entry, root uint) error {
	t.root, t.mask, t.second = root, 1<<root-1, t.second[:0]
	clear(t.first[:1<<root])
	var count, next [16]uint32
	longest := uint8(0)
	for _, n := range lengths {
		count[n]++
		longest = max(longest, n)
	}
	if longest == 0 {
		return nil // as of the distances where there are none
	}
	count[0] = 0
	for n := 1; n < len(next); n++ {
		next[n] = (next[n-1] + count[n-1]) << 1
	}
	// All codes must be in use, unless there is but one.
	if used := next[longest] + count[longest]; used != 1<<longest && !(used == 1 && longest == 1) {
		return errCode
	}
	for symbol, n := range lengths {
		if n > 0 {
			t.add(bits.Reverse16(uint16(next[n]))>>(16-n), uint(n), of(symbol)|entry(n), uint(longest))
			next[n]++
		}
	}
	return nil
}

// add enters a code of n bits wherever it begins an index.
func (t *table) add(code uint16, n uint, e entry, longest uint) {
	if n <= t.root {
		for i := int(code); i < 1<<t.root; i += 1 << n {
			t.first[i] = e
		}
		return
	}
	width := longest - t.root
	from := &t.first[uint64(code)&t.mask]
	if *from == 0 {
		at := len(t.second)
		t.second = slices.Grow(t.second, 1<<width)[:at+1<<width]
		clear(t.second[at:])
		*from = link | entry(width)<<extraAt | entry(at)<<valueAt
	}
	for i := int(code >> t.root); i < 1<<width; i += 1 << (n - t.root) {
		t.second[int(*from>>valueAt)+i] = e
	}
}

// litlen is what a symbol of literals and lengths stands for.
func litlen(symbol int) entry {
	switch {
	case symbol < 256:
		return literal | entry(symbol)<<valueAt
	case symbol == 256:
		return end
	case symbol < 265:
		return base | entry(symbol-254)<<valueAt
	case symbol < 285:
		return stepped(symbol-257, 4, 3)
	case symbol == 285:
		return base | 258<<valueAt
	}
	return 0
}

// distance is what a symbol of distances stands for.
func distance(symbol int) entry {
	switch {
	case symbol < 4:
		return base | entry(symbol+1)<<valueAt
	case symbol < maxDists:
		return stepped(symbol, 2, 1)
	}
	return 0
}

// stepped is a symbol of which so many in turn have the same number of extra bits, one
// more than those before, and count on from first.
func stepped(symbol, each, first int) entry {
	extra := symbol/each - 1
	return base | entry(extra)<<extraAt | entry((each+symbol%each)<<extra+first)<<valueAt
}

// fixed makes the tables of a block with fixed codes.
func (f *inflater) fixed() error {
	var lengths [litlens]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	if err := f.litlen.build(lengths[:], litlen, litlenRoot); err != nil {
		return err
	}
	for i := range dists {
		lengths[i] = 5
	}
	return f.dist.build(lengths[:dists], distance, distRoot)
}

// order is that of the lengths of the code of lengths.
var order = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the tables of a block that brings its own codes.
func (f *inflater) dynamic() error {
	h, err := f.take(14)
	if err != nil {
		return err
	}
	nlit, ndist, ncode := int(h&31)+257, int(h>>5&31)+1, int(h>>10)+4
	if nlit > maxLitlens || ndist > maxDists {
		return errCode
	}
	var lengths [maxLitlens + maxDists]uint8
	var code [len(order)]uint8
	for _, i := range order[:ncode] {
		n, err := f.take(3)
		if err != nil {
			return err
		}
		code[i] = uint8(n)
	}
	plain := func(symbol int) entry { return base | entry(symbol)<<valueAt }
	if err := f.dist.build(code[:], plain, 7); err != nil {
		return err
	}
	if err := f.lengths(lengths[:nlit+ndist]); err != nil {
		return err
	}
	if err := f.litlen.build(lengths[:nlit], litlen, litlenRoot); err != nil {
		return err
	}
	return f.dist.build(lengths[nlit:nlit+ndist], distance, distRoot)
}

// lengths reads the lengths of codes, by the code that is in f.dist.
func (f *inflater) lengths(to []uint8) error {
	for i := 0; i < len(to); {
		f.fill()
		e := f.dist.first[f.hold&f.dist.mask]
		if e&base == 0 {
			return errCode
		}
		if _, err := f.take(uint(e & sizeMask)); err != nil {
			return err
		}
		symbol, times, value, extra := uint8(e>>valueAt), 1, uint8(0), uint(0)
		switch {
		case symbol < 16:
			value = symbol
		case symbol == 16 && i == 0:
			return errCode
		case symbol == 16:
			value, times, extra = to[i-1], 3, 2
		case symbol == 17:
			times, extra = 3, 3
		default:
			times, extra = 11, 7
		}
		more, err := f.take(extra)
		if err != nil {
			return err
		}
		if times += int(more); times > len(to)-i {
			return errCode
		}
		for range times {
			to[i] = value
			i++
		}
	}
	return nil
}
