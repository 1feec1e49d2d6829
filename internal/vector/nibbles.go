package vector

import (
	"encoding/binary"
	"math"
)

// Nibbles describes blocks of 32 elements of 4 bits, or 5. Element i is
// (Values[nibble] + High if its fifth bit is set) * scale + minimum: sixteen bytes
// have the nibbles of elements 0 to 15 in their lower halves and those of 16 to 31
// in the upper ones, and 32 bits the fifth bits in order. Offsets are from where
// a block begins.
type Nibbles struct {
	Stride int // from one block to the next
	At     int // of the nibbles
	Fifth  int // of the fifth bits; any four bytes of a block if High is 0
	Values [16]int8
	High   int8
}

// batch is the most blocks in one call of an assembly routine: 2 microseconds of work.
const batch = 256

// noMins are minimums that change no number, not even the sign of a zero.
var noMins = func() (all [batch]float32) {
	for i := range all {
		all[i] = float32(math.Copysign(0, -1))
	}
	return all
}()

// Decode fills dst with len(scales) blocks of src. mins has a minimum for each, or
// none. Where a minimum is a NaN, so is its block, with that payload. Products have to be
// exact, as those of a float16 or a power of two are.
func (n *Nibbles) Decode(dst []float32, src []byte, scales, mins []float32) {
	for len(scales) > 0 {
		k := min(len(scales), batch)
		low := noMins[:k]
		if len(mins) > 0 {
			low, mins = mins[:k], mins[k:]
		}
		if haveIntegers {
			nibbleBlocks(dst[:32*k], src[:k*n.Stride], scales[:k], low, n)
		} else {
			n.plain(dst, src, scales[:k], low)
		}
		dst, src, scales = dst[32*k:], src[k*n.Stride:], scales[k:]
	}
}

func (n *Nibbles) plain(dst []float32, src []byte, scales, mins []float32) {
	var values [32]float32
	for i, v := range n.Values {
		values[i], values[i+16] = float32(v), float32(v+n.High)
	}
	for i, d := range scales {
		m := mins[i]
		if m != m {
			d = 0 // or the payload would be a matter of the processor
		}
		b := src[i*n.Stride:]
		q, fifth, out := (*[16]byte)(b[n.At:]), uint32(0), (*[32]float32)(dst[32*i:])
		if n.High != 0 {
			fifth = binary.LittleEndian.Uint32(b[n.Fifth:])
		}
		for half := 0; half < 16; half += 8 {
			const lower = 0x0f0f0f0f0f0f0f0f
			q, o := binary.LittleEndian.Uint64(q[half:]), (*[24]float32)(out[half:])
			low, high := q&lower, q>>4&lower
			if n.High != 0 {
				low, high = low|fifthBits(fifth>>half), high|fifthBits(fifth>>half>>16)
			}
			for j := range 8 {
				o[j] = d*values[low&31] + m
				o[j+16] = d*values[high&31] + m
				low, high = low>>8, high>>8
			}
		}
	}
}

// fifthBits returns eight bytes of 16 or 0, by the lowest bits.
func fifthBits(bits uint32) uint64 {
	one := uint64(bits&0xff) * 0x0101010101010101 & 0x8040201008040201 // bit i of byte i
	return (one + 0x7f7f7f7f7f7f7f7f) >> 3 & 0x1010101010101010
}
