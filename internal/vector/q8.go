package vector

import (
	"encoding/binary"
	"math"
)

// The layout of a block: a float16 scale and 32 int8.
const (
	q8Elems = 32
	q8Bytes = 2 + q8Elems
)

// EncodeQ8 encodes src, a whole number of blocks, to dst. The scale of a block is a 127th of
// its largest magnitude, and halves are rounded away from zero. EncodeQ8 stops at a block
// whose scale is not finite and returns the number of blocks before it.
func EncodeQ8(dst []byte, src []float32) (blocks int) {
	n := len(src) / q8Elems
	for blocks < n {
		if haveHalf {
			end := min(blocks+block/4/q8Elems, n)
			blocks += q8Block(dst[blocks*q8Bytes:end*q8Bytes], src[blocks*q8Elems:end*q8Elems])
			if blocks == end {
				continue
			}
		}
		if !q8Plain(dst[blocks*q8Bytes:], src[blocks*q8Elems:]) {
			break
		}
		blocks++
	}
	return blocks
}

// q8Plain encodes one block. It returns false if the scale is not finite.
func q8Plain(dst []byte, src []float32) bool {
	numbers := (*[q8Elems]float32)(src)
	ints := (*[q8Bytes]byte)(dst)[2:]
	most := uint32(0)
	for _, x := range numbers {
		most = max(most, math.Float32bits(x)&^sign32)
	}
	if most >= inf32 {
		return false
	}
	scale := math.Float32frombits(most) / 127
	stored := ToHalf(math.Float32bits(scale))
	if stored == 0x7c00 {
		return false
	}
	inverse := float32(0)
	if stored != 0 {
		inverse = 1 / scale
	}
	binary.LittleEndian.PutUint16(dst, stored)
	for i, x := range numbers {
		// Adding the float32 just under 0.5 and truncating rounds halves away from zero.
		const half = 0x3effffff
		y := float32(x * inverse)
		ints[i] = byte(int32(y + math.Float32frombits(math.Float32bits(y)&sign32|half)))
	}
	return true
}
