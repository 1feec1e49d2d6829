package vector

import (
	"encoding/binary"
	"math"

	"github.com/weightmap/weightmap/internal/memory"
)

const (
	sign32 = 1 << 31
	inf32  = 0xff << 23 // bits of +Inf; larger magnitudes are NaNs
	// halfAdj is the difference of the biases of float32 and float16, in the exponent's place.
	halfAdj = (127 - 15) << 23
)

// HalfBits converts the bits of a float16 to those of a float32. The result is exact:
// subnormals become normal, and a NaN, signaling or quiet, keeps its sign and payload.
func HalfBits(h uint16) uint32 {
	sign := uint32(h) & 0x8000 << 16
	b := uint32(h) & 0x7fff << 13
	switch h & 0x7c00 {
	case 0:
		// Add an implicit one to the fraction and subtract it as a float: the
		// subtraction is exact and normalizes.
		const one = 113 << 23
		f := math.Float32frombits(one+b) - math.Float32frombits(one)
		return sign | math.Float32bits(f)
	case 0x7c00:
		return sign | b | inf32
	}
	return sign | (b + halfAdj)
}

// Float16 widens the little-endian float16 in src to len(dst) values as HalfBits
// does. src holds at least 2*len(dst) bytes.
func Float16(dst []float32, src []byte, stream bool) {
	split(dst, haveHalf, stream,
		func(i, j int) { float16Block(dst[i:j], src[2*i:2*j], stream) },
		func(i int) { dst[i] = math.Float32frombits(HalfBits(binary.LittleEndian.Uint16(src[2*i:]))) })
}

// BFloat16 widens the little-endian bfloat16 in src to len(dst) values, bit for
// bit. src holds at least 2*len(dst) bytes.
func BFloat16(dst []float32, src []byte, stream bool) {
	split(dst, haveIntegers, stream,
		func(i, j int) { bfloat16Block(dst[i:j], src[2*i:2*j], stream) },
		func(i int) { dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16) })
}

// Float64 rounds the little-endian float64 in src to len(dst) values. src holds at
// least 8*len(dst) bytes.
func Float64(dst []float32, src []byte, stream bool) {
	split(dst, haveIntegers, stream,
		func(i, j int) { float64Block(dst[i:j], src[8*i:8*j], stream) },
		func(i int) { dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))) })
}

// Int32 rounds the little-endian int32 in src to len(dst) values. src holds at least
// 4*len(dst) bytes.
func Int32(dst []float32, src []byte, stream bool) {
	split(dst, haveIntegers, stream,
		func(i, j int) { int32Block(dst[i:j], src[4*i:4*j], stream) },
		func(i int) { dst[i] = float32(int32(binary.LittleEndian.Uint32(src[4*i:]))) })
}

// Number is a type of numbers that Go has.
type Number interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// Numbers converts len(dst) little-endian numbers of type T, which need not be aligned. The output
// never bypasses the caches.
func Numbers[T Number, F float32 | float64](dst []F, src []byte, _ bool) {
	var piece [128]T
	size := len(memory.BytesOf(piece[:1]))
	for len(dst) > 0 {
		n := min(len(dst), len(piece))
		Copy(piece[:n], src[:n*size], size)
		for i, x := range piece[:n] {
			dst[i] = F(x)
		}
		dst = dst[n:]
		src = src[n*size:]
	}
}

// Copy fills dst from little-endian bytes that consist of words of the given size.
func Copy[T any](dst []T, src []byte, word int) {
	out := memory.BytesOf(dst)
	copy(out, src)
	if !memory.LittleEndian {
		Swap(out, word)
	}
}

// Swap reverses the bytes of each word of 2, 4 or 8 bytes in place. Words of one byte stay.
func Swap(b []byte, word int) {
	le := binary.LittleEndian
	be := binary.BigEndian
	for i := 0; i+word <= len(b); i += word {
		switch word {
		case 2:
			le.PutUint16(b[i:], be.Uint16(b[i:]))
		case 4:
			le.PutUint32(b[i:], be.Uint32(b[i:]))
		case 8:
			le.PutUint64(b[i:], be.Uint64(b[i:]))
		}
	}
}

// Lookup fills dst with the table's values for the bytes in src, which holds at least
// len(dst) bytes.
func Lookup(dst []float32, src []byte, values *[256]float32) {
	// One at a time can take 1.5 times as long, depending on alignment.
	for len(dst) >= 4 && len(src) >= 4 {
		d := (*[4]float32)(dst)
		x := (*[4]byte)(src)
		d[0] = values[x[0]]
		d[1] = values[x[1]]
		d[2] = values[x[2]]
		d[3] = values[x[3]]
		dst = dst[4:]
		src = src[4:]
	}
	for i := range dst {
		dst[i] = values[src[i]]
	}
}
