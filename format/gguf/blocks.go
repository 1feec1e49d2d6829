package gguf

import (
	"encoding/binary"
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// blocks describes a type by the elements and bytes of a block. decode fills dst
// from as many whole blocks; it is nil for types that are known by name only.
func blocks(name string, elems, bytes int64, decode func(dst []float32, src []byte)) elementType {
	e := &tensor.Encoding{Name: name, BlockElems: elems, BlockBytes: bytes}
	if decode != nil {
		e.Decode = func(dst []float32, src []byte) error {
			if err := wholeBlocks(e, len(dst), len(src)); err != nil {
				return err
			}
			decode(dst, src)
			return nil
		}
	}
	return elementType{encoding: e}
}

// eachBlock describes a type by a function that decodes one block.
func eachBlock(name string, elems, bytes int64, decode func(dst []float32, b []byte)) elementType {
	return blocks(name, elems, bytes, func(dst []float32, src []byte) {
		for len(dst) > 0 {
			decode(dst[:elems:elems], src[:bytes:bytes])
			dst, src = dst[elems:], src[bytes:]
		}
	})
}

// wholeBlocks refuses elements and bytes that are not the same number of blocks.
func wholeBlocks(e *tensor.Encoding, elems, bytes int) error {
	if int64(elems)%e.BlockElems != 0 || int64(elems)/e.BlockElems != int64(bytes)/e.BlockBytes || int64(bytes)%e.BlockBytes != 0 {
		return fmt.Errorf("%w: %d bytes of %s for %d elements", tensor.ErrShape, bytes, e.Name, elems)
	}
	return nil
}

// Every sum below rounds once: its products are exact in a float32, whether or
// not the processor fuses the operations.

func half(b []byte) float32 { return tensor.F16(binary.LittleEndian.Uint16(b)).Float32() }

// The types named K have super-blocks of 256 elements. Their 2-bit parts hold
// elements l, l+32, l+64 and l+96 of a half in one byte.

// decodeQ2K: 16 scales and minimums of 4 bits, 2-bit elements, d, dmin.
func decodeQ2K(dst []float32, b []byte) {
	scales, qs, d, dmin := b[:16], b[16:80], half(b[80:]), half(b[82:])
	for i := range 16 { // groups of 16 elements
		scale, low := d*float32(scales[i]&15), dmin*float32(scales[i]>>4)
		q, shift := qs[i/8*32+i%2*16:], i%8/2*2
		for l := range 16 {
			dst[16*i+l] = scale*float32(q[l]>>shift&3) - low
		}
	}
}

// decodeQ3K: third bits (clear means 4 less), 2-bit elements, 16 scales of 6 bits, d.
func decodeQ3K(dst []float32, b []byte) {
	high, qs, packed, d := b[:32], b[32:96], b[96:108], half(b[108:])
	for i := range 16 { // groups of 16 elements
		s := packed[i%8] >> (i / 8 * 4) & 15
		s |= packed[8+i%4] >> (i / 4 * 2) & 3 << 4
		scale := d * float32(int(s)-32)
		q, h, shift, bit := qs[i/8*32+i%2*16:], high[i%2*16:], i%8/2*2, i/2
		for l := range 16 {
			dst[16*i+l] = scale * float32(int(q[l]>>shift&3)|int(h[l]>>bit&1)<<2-4)
		}
	}
}

// scaleMin returns scale and minimum i of 8, which Q4_K and Q5_K pack in 6 bits each.
func scaleMin(packed []byte, i int) (scale, low float32) {
	if i < 4 {
		return float32(packed[i] & 63), float32(packed[i+4] & 63)
	}
	return float32(packed[i+4]&15 | packed[i-4]>>6<<4), float32(packed[i+4]>>4 | packed[i]>>6<<4)
}

// decodeQ4K: d, dmin, packed scales and minimums, halves in groups of 32.
func decodeQ4K(dst []float32, b []byte) {
	d, dmin, packed, qs := half(b), half(b[2:]), b[4:16], b[16:144]
	for i := range 8 {
		scale, low := scaleMin(packed, i)
		scale, low = d*scale, dmin*low
		q, shift := qs[i/2*32:], i%2*4
		for l := range 32 {
			dst[32*i+l] = scale*float32(q[l]>>shift&15) - low
		}
	}
}

// decodeQ5K: as Q4_K, with the fifth bits of group i in bit i of 32 bytes.
func decodeQ5K(dst []float32, b []byte) {
	d, dmin, packed, high, qs := half(b), half(b[2:]), b[4:16], b[16:48], b[48:176]
	for i := range 8 {
		scale, low := scaleMin(packed, i)
		scale, low = d*scale, dmin*low
		q, shift := qs[i/2*32:], i%2*4
		for l := range 32 {
			dst[32*i+l] = scale*float32(q[l]>>shift&15|high[l]>>i&1<<4) - low
		}
	}
}

// decodeQ6K: low halves, upper 2 bits, 16 signed scales, d.
func decodeQ6K(dst []float32, b []byte) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for i := range 16 { // groups of 16 elements
		scale := d * float32(int8(scales[i]))
		quarter := i % 8 / 2
		q, h := low[i/8*64+quarter%2*32+i%2*16:], high[i/8*32+i%2*16:]
		for l := range 16 {
			v := int(q[l]>>(quarter/2*4)&15) | int(h[l]>>(quarter*2)&3)<<4
			dst[16*i+l] = scale * float32(v-32)
		}
	}
}
