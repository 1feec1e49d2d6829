package gguf

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestEveryScale compares all bytes under all scales with the definition of each type.
func TestEveryScale(t *testing.T) {
	nibble := func(q []byte, i int) byte { return q[i%16] >> (i / 16 * 4) & 15 }
	five := func(high, q []byte, i int) float32 {
		return float32(int(nibble(q, i)) | int(binary.LittleEndian.Uint32(high)>>i&1)<<4)
	}
	for _, tt := range []struct {
		code    int
		element func(b []byte, i int) float32
	}{
		{2, func(b []byte, i int) float32 { return half(b) * float32(int(nibble(b[2:], i))-8) }},
		{3, func(b []byte, i int) float32 { return half(b)*float32(nibble(b[4:], i)) + half(b[2:]) }},
		{6, func(b []byte, i int) float32 { return half(b) * (five(b[2:], b[6:], i) - 16) }},
		{7, func(b []byte, i int) float32 { return half(b)*five(b[4:], b[8:], i) + half(b[2:]) }},
		{8, func(b []byte, i int) float32 { return half(b) * float32(int8(b[2+i])) }},
		{20, func(b []byte, i int) float32 { return half(b) * float32(valuesIQ4[nibble(b[2:], i)]) }},
		{39, func(b []byte, i int) float32 {
			e2m1 := [8]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}
			x := nibble(b[1:], i)
			v := math.Ldexp(e2m1[x&7], int(b[0])-127)
			if x > 8 {
				v = -v
			}
			return float32(v)
		}},
	} {
		e := elementTypes[tt.code].encoding
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			const n = 16 // blocks, with every byte
			src, dst := make([]byte, n*e.BlockBytes), make([]float32, n*e.BlockElems)
			for i := range src {
				src[i] = byte(i%int(e.BlockBytes) + i/int(e.BlockBytes)*n)
			}
			step := 1
			if testing.Short() {
				step = 37
			}
			for scale := 0; scale < 1<<16; scale += step {
				for b := src; len(b) > 0; b = b[e.BlockBytes:] {
					b[0] = byte(scale)
					if tt.code != 39 { // whose scale is one byte
						b[1] = byte(scale >> 8)
					}
				}
				if err := e.Decode(dst, src); err != nil {
					t.Fatal(err)
				}
				for i, x := range dst {
					b := src[i/32*int(e.BlockBytes):]
					if want := tt.element(b, i%32); !same(x, math.Float32bits(want)) {
						t.Fatalf("element %d of % x is %v, want %v", i%32, b[:e.BlockBytes], x, want)
					}
				}
			}
		})
	}
}
