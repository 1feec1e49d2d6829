package vector

import (
	"encoding/binary"
	"sync"
)

// Groups describes blocks of 256 elements of up to six bits in groups of 16 or 32. Each group
// has a scale and a minimum: an element is (bits - Base) * scale - minimum. A block has eight
// rows of 32 elements. Each element of a row takes bits from one of 32 bytes and, unless
// HighMask is 0, its upper bits from one of 32 others.
type Groups struct {
	Size              int // of a block in bytes
	Halves            int // groups in a row: 1 or 2
	Rows              [8]Row
	LowMask, HighMask uint32 // applied after the bytes are shifted down
	HighUp            uint32 // left shift of the upper bits
	Base              uint32 // at most 32

	// Unpack sets the scales of block b in s, which is zero.
	Unpack func(s *Scales, b []byte)
}

// Row holds the offset of a row's bytes in a block and their right shift, and the same for the
// bytes with the upper bits.
type Row [4]uint32

// Scales holds the signed bytes of a block whose products with D are the scales of the
// groups, and those whose products with Min are the minimums. The lowest byte is that of
// the first group. D and Min are float16, so all products are exact.
type Scales struct {
	D, Min     float32
	Scale, Low [2]uint64
}

const (
	groupElems = 256 // of a block
	unpacked   = 16  // blocks in one call of the routine
)

// groupRoom is the scratch of one call of Decode. It is pooled since arguments of Unpack escape.
type groupRoom struct {
	scales [unpacked]Scales
	floats [32]float32 // the scales of a block, then the minimums
}

var groupRooms = sync.Pool{New: func() any { return new(groupRoom) }}

// Decode fills dst with elements of the blocks in src. len(dst) is a multiple of 256.
func (g *Groups) Decode(dst []float32, src []byte) {
	room := groupRooms.Get().(*groupRoom)
	for len(dst) > 0 {
		n := min(len(dst)/groupElems, unpacked)
		out := dst[:n*groupElems]
		in := src[:n*g.Size]
		scales := room.scales[:n]
		for i := range scales {
			scales[i] = Scales{}
			g.Unpack(&scales[i], in[i*g.Size:][:g.Size])
		}
		if haveIntegers {
			groupBlocks(out, in, scales, g, &room.floats)
		} else {
			g.plain(out, in, scales)
		}
		dst = dst[len(out):]
		src = src[len(in):]
	}
	groupRooms.Put(room)
}

// plain is the Go version. The conversions of products
// prevent fused operations, so that all processors return the same bits: of two NaNs, the
// product's.
func (g *Groups) plain(dst []float32, src []byte, scales []Scales) {
	const each = 0x0101010101010101
	low := uint64(g.LowMask) * each
	high := uint64(g.HighMask) * each
	up := g.HighUp & 7
	numbers := (*[64]float32)(smallNumbers[32-g.Base:])
	for i := range 16 * len(scales) { // halves of rows
		b := src[i/16*g.Size:]
		s := &scales[i/16]
		r := &g.Rows[i%16/2]
		group := i % 16 * g.Halves / 2
		shift := group % 8 * 8
		scale := s.D * float32(int8(s.Scale[group/8]>>shift))
		minimum := float32(s.Min * float32(int8(s.Low[group/8]>>shift)))
		for at := 16 * (i % 2); at < 16+16*(i%2); at += 8 {
			q := binary.LittleEndian.Uint64(b[int(r[0])+at:]) >> (r[1] & 7) & low
			if high != 0 {
				q |= binary.LittleEndian.Uint64(b[int(r[2])+at:]) >> (r[3] & 7) & high << up
			}
			out := (*[8]float32)(dst[i/2*32+at:])
			for k := range out {
				out[k] = float32(scale*numbers[q>>(8*k)&63]) - minimum
			}
		}
	}
}

// smallNumbers are those from -32 to 63.
var smallNumbers = func() (all [96]float32) {
	for i := range all {
		all[i] = float32(i - 32)
	}
	return all
}()
