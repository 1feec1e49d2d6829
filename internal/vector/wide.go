package vector

import (
	"encoding/binary"
	"math"
)

// Float64 rounds the little-endian float64 in src to len(dst) values. src holds at
// least 8*len(dst) bytes.
func Float64(dst []float32, src []byte, stream bool) {
	split(dst, haveIntegers, stream,
		func(i, j int) { float64Block(dst[i:j], src[8*i:8*j], stream) },
		func(i, j int) { float64Plain(dst[i:j], src[8*i:8*j]) })
}

func float64Plain(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

// Int32 rounds the little-endian int32 in src to len(dst) values. src holds at least
// 4*len(dst) bytes.
func Int32(dst []float32, src []byte, stream bool) {
	split(dst, haveIntegers, stream,
		func(i, j int) { int32Block(dst[i:j], src[4*i:4*j], stream) },
		func(i, j int) { int32Plain(dst[i:j], src[4*i:4*j]) })
}

func int32Plain(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int32(binary.LittleEndian.Uint32(src[4*i:])))
	}
}

// The two kinds of 16-bit integers.
const (
	Uint16 Kind = 0
	Int16  Kind = 0x8000
)

// Linear16 is Linear for little-endian integers of 16 bits. src holds at least
// 2*len(dst) bytes.
func Linear16(dst []float32, src []byte, k Kind, scale float32, zero int32, stream bool) {
	split(dst, haveIntegers && exact(zero), stream,
		func(i, j int) { linear16Block(dst[i:j], src[2*i:2*j], k, scale, zero, stream) },
		func(i, j int) { linear16Plain(dst[i:j], src[2*i:2*j], k, scale, zero) })
}

func linear16Plain(dst []float32, src []byte, k Kind, scale float32, zero int32) {
	z, f := int64(zero), float64(scale)
	for i := range dst {
		dst[i] = linear(k.value(binary.LittleEndian.Uint16(src[2*i:])), z, f)
	}
}

// Lookup fills dst with the table's values for the bytes in src, which holds at least
// len(dst) bytes.
func Lookup(dst []float32, src []byte, values *[256]float32) {
	for len(dst) >= 4 && len(src) >= 4 { // one at a time can take 1.5 times as long, depending on alignment
		d, x := (*[4]float32)(dst), (*[4]byte)(src)
		d[0], d[1], d[2], d[3] = values[x[0]], values[x[1]], values[x[2]], values[x[3]]
		dst, src = dst[4:], src[4:]
	}
	for i := range dst {
		dst[i] = values[src[i]]
	}
}
