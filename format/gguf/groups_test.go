package gguf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The definitions of blocks of 256 elements, element by element. float32 of a product keeps it
// from being fused with the difference, where it matters which of two NaN wins.

func elementQ2K(b []byte, i int) float32 {
	scales, qs, group := b[:16], b[16:80], i/16
	q := qs[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3
	return float32(half(b[80:])*float32(scales[group]&15)*float32(q)) - float32(half(b[82:])*float32(scales[group]>>4))
}

func elementQ3K(b []byte, i int) float32 {
	high, qs, packed, group := b[:32], b[32:96], b[96:108], i/16
	scale := packed[group%8] >> (group / 8 * 4) & 15
	scale |= packed[8+group%4] >> (group / 4 * 2) & 3 << 4
	q := int(qs[i/128*32+i%32]>>(i%128/32*2)&3) | int(high[i%32]>>(i/32)&1)<<2
	return half(b[108:]) * float32(int(scale)-32) * float32(q-4)
}

// scaleMin returns scale and minimum i of 8, which Q4_K and Q5_K pack in 6 bits each.
func scaleMin(packed []byte, i int) (scale, low float32) {
	if i < 4 {
		return float32(packed[i] & 63), float32(packed[i+4] & 63)
	}
	return float32(packed[i+4]&15 | packed[i-4]>>6<<4), float32(packed[i+4]>>4 | packed[i]>>6<<4)
}

func elementQ4K(b []byte, i int) float32 {
	scale, low := scaleMin(b[4:16], i/32)
	q := b[16+i/64*32+i%32] >> (i / 32 % 2 * 4) & 15
	return float32(half(b)*scale*float32(q)) - float32(half(b[2:])*low)
}

func elementQ5K(b []byte, i int) float32 {
	scale, low := scaleMin(b[4:16], i/32)
	q := b[48+i/64*32+i%32]>>(i/32%2*4)&15 | b[16+i%32]>>(i/32)&1<<4
	return float32(half(b)*scale*float32(q)) - float32(half(b[2:])*low)
}

func elementQ6K(b []byte, i int) float32 {
	low, high, scales, quarter := b[:128], b[128:192], b[192:208], i%128/32
	q := int(low[i/128*64+quarter%2*32+i%32]>>(quarter/2*4)&15) | int(high[i/128*32+i%32]>>(quarter*2)&3)<<4
	return half(b[208:]) * float32(int8(scales[i/16])) * float32(q-32)
}

func elementTQ2_0(b []byte, i int) float32 {
	return float32(int(b[i/128*32+i%32]>>(i%128/32*2)&3)-1) * half(b[64:])
}

// TestEveryGroupScale compares blocks of any bytes with their definitions, bit for bit, under all
// scales and with any minimums.
func TestEveryGroupScale(t *testing.T) {
	for _, tt := range []struct {
		code    int
		scale   int // where d is
		element func(b []byte, i int) float32
	}{
		{10, 80, elementQ2K},
		{11, 108, elementQ3K},
		{12, 0, elementQ4K},
		{13, 0, elementQ5K},
		{14, 208, elementQ6K},
		{35, 64, elementTQ2_0},
	} {
		e := elementTypes[tt.code].encoding
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			const n = 5 // blocks
			r := rand.New(rand.NewPCG(7, 8))
			src, dst := make([]byte, n*e.BlockBytes), make([]float32, n*e.BlockElems)
			step := 1
			if testing.Short() {
				step = 197
			}
			for d := 0; d < 1<<16; d += step * n {
				for i := range src {
					src[i] = byte(r.Uint32())
				}
				for k := range n {
					at := k*int(e.BlockBytes) + tt.scale
					src[at], src[at+1] = byte(d+k*step), byte((d+k*step)>>8)
				}
				if err := e.Decode(dst, src); err != nil {
					t.Fatal(err)
				}
				for i, x := range dst {
					b := src[i/256*int(e.BlockBytes):]
					if want := tt.element(b, i%256); math.Float32bits(x) != math.Float32bits(want) {
						t.Fatalf("element %d of % x is %x, want %x", i%256, b[:e.BlockBytes], math.Float32bits(x), math.Float32bits(want))
					}
				}
			}
		})
	}
}
