package vector

import "encoding/binary"

// Nibbles describes blocks of 32 elements of 4 bits, or 5. Element i is
// (Values[nibble] + High if its fifth bit is set) * scale + minimum: sixteen bytes
// hold elements 0 to 15 in their lower nibbles and 16 to 31 in the upper ones; 32 bits
// hold the fifth bits in order. Offsets are relative to the block.
type Nibbles struct {
	Stride int // distance between blocks
	At     int // offset of the nibbles
	Fifth  int // offset of the fifth bits; any four bytes of a block if High is 0
	Values [16]int8
	High   int8
}

// Batch is the maximum number of blocks in one call of Decode or Scaled: 2 microseconds of work.
const Batch = 256

// Decode fills dst with the elements of a block of src for each scale and minimum. If a minimum is
// a NaN, all elements of its block are that NaN; a negative zero changes no number. Products must
// be exact, as those of float16 scales and powers of two are.
func (n *Nibbles) Decode(dst []float32, src []byte, scales, mins []float32) {
	if haveIntegers {
		nibbleBlocks(dst, src, scales, mins, n)
	} else {
		n.plain(dst, src, scales, mins)
	}
}

func (n *Nibbles) plain(dst []float32, src []byte, scales, mins []float32) {
	var values [32]float32 // with fifth bits in the upper half
	for i, v := range n.Values {
		values[i] = float32(v)
		values[i+16] = float32(v + n.High)
	}
	for i, d := range scales {
		m := mins[i]
		if m != m {
			d = 0 // otherwise the payload would depend on the processor
		}
		b := src[i*n.Stride:]
		out := (*[32]float32)(dst[32*i:])
		fifth := uint32(0)
		if n.High != 0 {
			fifth = binary.LittleEndian.Uint32(b[n.Fifth:])
		}
		for j, q := range (*[16]byte)(b[n.At:]) {
			x := uint32(q)
			out[j] = d*values[x&15|fifth<<4&16] + m
			out[j+16] = d*values[x>>4|fifth>>12&16] + m
			fifth >>= 1
		}
	}
}
